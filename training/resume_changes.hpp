/// Finds changed settings of a resumed run that affect what it learns.
#pragma once

#include "core/checkpoint/checkpoint.hpp"
#include "core/config/forward.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::training {

/// Returns a sentence for each key of training and augmentation whose value differs from the
/// checkpoint's: both values and, if the key affects it, the next learning rate. Returns nothing
/// for a checkpoint that does not record its config.
std::vector<std::string> changes_since(const CheckpointHeader& checkpoint, const Config& config,
                                       std::int64_t steps_per_epoch);

} // namespace troupe::training
