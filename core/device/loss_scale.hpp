/// Dynamic loss scaling, with the meaning and the defaults of PyTorch's GradScaler: gradients are
/// made with a loss that is multiplied by `scale`, so that f16 does not flush them to zero. A step
/// whose gradients are not all finite changes nothing and lowers the scale.
///
/// The state lives in device memory and no host ever waits for it: Device::check_finite sets
/// found_inf, Device::optimizer_step obeys it, Device::update_loss_scale ends the step.
#pragma once

#include "core/config/forward.hpp"
#include "core/device/optimizer_math.hpp"
#include "core/host_and_device.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

struct LossScaleOptions {
  float initial = 65536.0f;
  double growth = 2.0;  ///< the scale is multiplied by it after `interval` good steps in a row
  double backoff = 0.5; ///< and by this after one that was skipped
  std::int32_t interval = 2000;
  bool operator==(const LossScaleOptions&) const = default;
};

struct LossScaleState {
  float scale = 65536.0f;
  float found_inf = 0.0f; ///< not 0: the step under way will be skipped; may be all-reduced
  std::int32_t growth_tracker = 0; ///< good steps since the scale changed
  std::int64_t skipped = 0;        ///< steps
  std::int64_t taken = 0;          ///< steps that changed parameters: what Adam counts
  std::int64_t grown = 0;          ///< times the scale was raised
  bool operator==(const LossScaleState&) const = default;
};

/// The end of a step: torch._amp_update_scale_, which multiplies in double and rounds once. A scale
/// that would overflow stays.
TROUPE_HOST_DEVICE inline void update_loss_scale(const LossScaleOptions& options,
                                                 LossScaleState& state) {
  const auto times = [&state](double factor) {
    return static_cast<float>(static_cast<double>(state.scale) * factor);
  };
  if (state.found_inf != 0.0f) {
    state.scale = times(options.backoff);
    state.growth_tracker = 0;
    ++state.skipped;
  } else {
    ++state.taken;
    if (++state.growth_tracker == options.interval) {
      if (const float grown = times(options.growth); grown < INFINITY) {
        state.scale = grown;
        ++state.grown;
      }
      state.growth_tracker = 0;
    }
  }
  state.found_inf = 0.0f;
}

/// What gradients are multiplied with to undo the scale.
TROUPE_HOST_DEVICE inline float inverse_scale(const LossScaleState& state) {
  return static_cast<float>(1.0 / static_cast<double>(state.scale));
}

/// An optimizer's arguments for gradients that are scaled. Skipped steps do not count.
TROUPE_HOST_DEVICE inline OptimizerArguments unscaled(OptimizerArguments arguments,
                                                      const LossScaleState& state) {
  arguments.step = state.taken + 1;
  arguments.gradient_scale *= inverse_scale(state);
  return arguments;
}

/// What the config asks for: nothing where losses are not scaled.
std::optional<LossScaleOptions> loss_scale_options(const PrecisionConfig& precision);

/// Between two steps, as checkpoints keep it: scale, growth tracker, skipped, taken, grown.
std::string to_string(const LossScaleState& state);
std::optional<LossScaleState> parse_loss_scale(const std::string& text);

} // namespace troupe
