/// Parses whole numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace troupe {

/// Parses decimal digits, after a minus sign if the type is signed. Returns nullopt for any other
/// text, and for a number that the type cannot hold.
template <class Number>
std::optional<Number> read_whole_number(std::string_view text) {
  Number value = 0;
  const auto* const end = text.data() + text.size();
  const auto [last, problem] = std::from_chars(text.data(), end, value);
  return problem == std::errc{} && last == end ? std::optional{value} : std::nullopt;
}

} // namespace troupe
