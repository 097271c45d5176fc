/// Converts the config's optimizer to the arguments of a device's optimizer_step.
#pragma once

#include "core/config/train.hpp"
#include "core/device/optimizer_math.hpp"

namespace troupe::nn {

/// Returns the arguments of the first step with the config's learning rate.
OptimizerArguments optimizer_arguments(const OptimizerConfig& config);

/// Returns the arguments of a later step. `step` counts updates from 0; every gradient is first
/// multiplied by `gradient_scale`.
OptimizerArguments at_step(OptimizerArguments arguments, std::int64_t step, double lr,
                           float gradient_scale = 1.0f);

} // namespace troupe::nn
