/// The keys of the section data.
#pragma once

#include "core/config/schema.hpp"

namespace troupe {

void add_data_keys(std::vector<ConfigKey>& keys, DataConfig& data);

} // namespace troupe
