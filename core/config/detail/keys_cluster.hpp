/// The keys of the section cluster.
#pragma once

#include "core/config/schema.hpp"

namespace troupe {

void add_cluster_keys(std::vector<ConfigKey>& keys, ClusterConfig& cluster);

} // namespace troupe
