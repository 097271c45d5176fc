/// Lengths within a run as users write them in config files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

struct Length {
  enum class Unit : std::uint8_t { epochs, steps, tokens, percent };

  double count = 0;
  Unit unit = Unit::epochs; ///< percent: of the whole run

  bool operator==(const Length&) const = default;
};

/// Parses "1.5 epochs", "200 steps", "2e6 tokens", "2%". A unit is required: the caller decides
/// what a plain number means. Returns nullopt for anything else, and for more than 1e15 or 100%.
std::optional<Length> parse_length(std::string_view text);
/// Writes epochs as a plain number, other units with their name: "1.5", "200 steps", "2000000
/// tokens", "2%".
std::string format_length(const Length& length);

} // namespace troupe
