/// How long something takes of a run, as people write it in config files.
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

/// "1.5 epochs", "200 steps", "2e6 tokens", "2%". A unit is needed: what a number alone means is
/// for the reader to say. Empty when it is none of these, or more than 1e15 or 100%.
std::optional<Length> parse_length(std::string_view text);
/// As above, but epochs are a number alone: "1.5", "200 steps", "2000000 tokens", "2%".
std::string format_length(const Length& length);

} // namespace troupe
