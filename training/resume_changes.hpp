/// Settings that a run may change when it is resumed, and that change what it learns.
#pragma once

#include "core/checkpoint/checkpoint.hpp"
#include "core/config/forward.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::training {

/// Returns a sentence for each key of training and augmentation whose value is not the one that the
/// checkpoint was trained with: both values and, where it follows from the key, the next learning
/// rate. Nothing for a checkpoint that does not record its config.
std::vector<std::string> changes_since(const CheckpointHeader& checkpoint, const Config& config,
                                       std::int64_t steps_per_epoch);

} // namespace troupe::training
