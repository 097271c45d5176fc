/// The keys of the section parallel.
#pragma once

#include "core/config/schema.hpp"

namespace troupe {

void add_parallel_keys(std::vector<ConfigKey>& keys, ParallelConfig& parallel);

} // namespace troupe
