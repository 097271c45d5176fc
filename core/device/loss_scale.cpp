#include "core/device/loss_scale.hpp"

#include "core/config/config.hpp"
#include "core/graph/precision.hpp"

#include <fmt/format.h>

#include <sstream>

namespace troupe {

std::optional<LossScaleOptions> loss_scale_options(const PrecisionConfig& precision) {
  const auto& scaling = precision.loss_scale;
  if (!scales_loss(precision.mode) || !scaling.enabled)
    return std::nullopt;
  return LossScaleOptions{.initial = static_cast<float>(scaling.initial),
                          .growth = scaling.growth_factor,
                          .backoff = scaling.backoff_factor,
                          .interval = static_cast<std::int32_t>(scaling.growth_interval)};
}

std::string to_string(const LossScaleState& state) {
  // fmt writes the shortest text that reads back as the same float.
  return fmt::format("{} {} {} {} {}", state.scale, state.growth_tracker, state.skipped,
                     state.taken, state.grown);
}

std::optional<LossScaleState> parse_loss_scale(const std::string& text) {
  std::istringstream words{text};
  LossScaleState state;
  if (words >> state.scale >> state.growth_tracker >> state.skipped >> state.taken >> state.grown &&
      state.scale > 0 && words.eof())
    return state;
  return std::nullopt;
}

} // namespace troupe
