/// Dynamic loss scaling, with the meaning and the defaults of PyTorch's GradScaler: the loss is
/// multiplied by `scale` before backward, so that f16 does not flush gradients to zero. A step
/// whose gradients are not all finite changes nothing and lowers the scale.
///
/// The state is in device memory and the host never waits for it: Device::check_finite sets
/// found_inf, Device::optimizer_step obeys it, and Device::update_loss_scale ends the step.
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
  double growth = 2.0;  ///< factor of the scale after `interval` good steps in a row
  double backoff = 0.5; ///< factor of the scale after a skipped step
  std::int32_t interval = 2000;
  bool operator==(const LossScaleOptions&) const = default;
};

struct LossScaleState {
  float scale = 65536.0f;
  float found_inf = 0.0f;          ///< not 0: the current step will be skipped; may be all-reduced
  std::int32_t growth_tracker = 0; ///< good steps since the scale changed
  std::int64_t skipped = 0;        ///< number of skipped steps
  std::int64_t taken = 0;          ///< steps that changed parameters: Adam's step count
  std::int64_t grown = 0;          ///< number of times the scale was raised
  bool operator==(const LossScaleState&) const = default;
};

/// Ends a step as torch._amp_update_scale_ does: multiplies in double and rounds once. Does not
/// raise a scale that would overflow.
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

/// Returns an optimizer's arguments for scaled gradients. Skipped steps do not count.
TROUPE_HOST_DEVICE inline OptimizerArguments unscaled(OptimizerArguments arguments,
                                                      const LossScaleState& state) {
  arguments.step = state.taken + 1;
  arguments.gradient_scale *= static_cast<float>(1.0 / static_cast<double>(state.scale));
  return arguments;
}

/// Returns the config's options; nullopt if losses are not scaled.
std::optional<LossScaleOptions> loss_scale_options(const PrecisionConfig& precision);

/// Convert the state between two steps to and from text for checkpoints: scale, growth tracker,
/// skipped, taken, grown.
std::string to_string(const LossScaleState& state);
std::optional<LossScaleState> parse_loss_scale(const std::string& text);

} // namespace troupe
