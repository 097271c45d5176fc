/// Converts the config's optimizer to the arguments of a device's optimizer_step.
#pragma once

#include "core/config/training.hpp"
#include "core/device/optimizer_math.hpp"
#include "core/error.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

/// sgd, adam, adamw.
const std::vector<std::string>& optimizer_names();

/// Returns the arguments of the first step with the config's learning rate. Errors: invalid_input
/// for an unknown name (with a suggestion).
Result<OptimizerArguments> optimizer_arguments(const OptimizerConfig& config);

/// Returns the arguments of a later step. `step` counts updates from 0; every gradient is first
/// multiplied by `gradient_scale`.
OptimizerArguments at_step(OptimizerArguments arguments, std::int64_t step, double lr,
                           float gradient_scale = 1.0f);

} // namespace troupe::nn
