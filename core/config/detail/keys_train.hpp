/// The keys of the section train.
#pragma once

#include "core/config/schema.hpp"

namespace troupe {

void add_train_keys(std::vector<ConfigKey>& keys, TrainConfig& train);

} // namespace troupe
