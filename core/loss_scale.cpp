#include "loss_scale.hpp"

#include <fmt/format.h>

#include <sstream>

namespace troupe {

std::string to_string(const LossScaleState& state) {
  // The shortest text that reads back as the same float.
  return fmt::format("{} {} {} {}", state.scale, state.growth_tracker, state.skipped, state.taken);
}

std::optional<LossScaleState> parse_loss_scale(const std::string& text) {
  std::istringstream words{text};
  LossScaleState state;
  if (words >> state.scale >> state.growth_tracker >> state.skipped >> state.taken &&
      state.scale > 0 && words.eof())
    return state;
  return std::nullopt;
}

} // namespace troupe
