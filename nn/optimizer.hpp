/// From the config's optimizer to what a device's optimizer_step takes.
#pragma once

#include "core/config/training.hpp"
#include "core/device/optimizer_math.hpp"
#include "core/error.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

/// sgd, adam, adamw.
const std::vector<std::string>& optimizer_names();

/// Arguments of the first step with the config's learning rate. Errors: invalid_input for an
/// unknown name (names the nearest).
Result<OptimizerArguments> optimizer_arguments(const OptimizerConfig& config);

/// The same for a later step: `step` counts updates from 0; every gradient is multiplied by
/// `gradient_scale` first.
OptimizerArguments at_step(OptimizerArguments arguments, std::int64_t step, double lr,
                           float gradient_scale = 1.0f);

} // namespace troupe::nn
