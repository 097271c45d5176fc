#include "core/config/length.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace troupe {

namespace {

using Unit = Length::Unit;

struct UnitName {
  std::string_view name;
  Unit unit;
};

constexpr std::array unit_names = {
    UnitName{" epochs", Unit::epochs}, UnitName{" epoch", Unit::epochs},
    UnitName{" steps", Unit::steps},   UnitName{" step", Unit::steps},
    UnitName{" tokens", Unit::tokens}, UnitName{" token", Unit::tokens},
    UnitName{"%", Unit::percent}};

/// Keeps sums of such lengths far from overflow, also in steps.
constexpr double longest = 1e15;

bool begins_with_digit(std::string_view text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

std::string_view word_of(Unit unit) {
  return unit == Unit::steps ? "step" : "token";
}

} // namespace

std::optional<Length> parse_length(std::string_view text) {
  double count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (!begins_with_digit(text) || error != std::errc{})
    return std::nullopt;
  const auto rest = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const auto& [name, unit] : unit_names)
    if (rest == name && count <= (unit == Unit::percent ? 100 : longest))
      return Length{count, unit};
  return std::nullopt;
}

std::string format_length(const Length& length) {
  if (length.unit == Unit::epochs)
    return fmt::format("{}", length.count);
  if (length.unit == Unit::percent)
    return fmt::format("{}%", length.count);
  return fmt::format("{} {}{}", length.count, word_of(length.unit), length.count == 1 ? "" : "s");
}

} // namespace troupe
