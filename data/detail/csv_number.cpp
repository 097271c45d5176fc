#include "data/detail/csv_number.hpp"

#include "core/escape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace troupe::data {

namespace {

/// Parses the whole text as a number. Returns nothing if it is not a number, or out of range.
template <class T>
std::optional<T> parse_whole(std::string_view text) {
  T value = 0;
  const auto* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional{value} : std::nullopt;
}

/// Removes a leading plus sign, which from_chars refuses.
std::string_view without_plus(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-"))
    text.remove_prefix(1);
  return text;
}

bool has_decimal_comma(std::string_view cell) {
  std::string pointed{cell};
  std::ranges::replace(pointed, ',', '.');
  return std::ranges::count(cell, ',') == 1 && parse_finite(pointed).has_value();
}

} // namespace

std::string_view trimmed(std::string_view cell) {
  const auto begin = cell.find_first_not_of(" \t");
  return begin == cell.npos ? std::string_view{}
                            : cell.substr(begin, cell.find_last_not_of(" \t") - begin + 1);
}

std::optional<double> parse_finite(std::string_view cell) {
  const auto text = without_plus(trimmed(cell));
  if (const auto value = parse_whole<double>(text))
    return std::isfinite(*value) ? value : std::nullopt;
  // Out of range means too small or too large. A long double has a larger range of exponents and
  // distinguishes them.
  if (const auto wide = parse_whole<long double>(text); wide && std::abs(*wide) < 1)
    return static_cast<double>(*wide);
  return std::nullopt;
}

std::string why_not_finite(std::string_view cell) {
  const auto text = trimmed(cell);
  if (text.empty())
    return "the cell is empty; fill it in or leave the row out";
  if (has_decimal_comma(text))
    return fmt::format("{} is not a number; write decimals with a point", echoed(text));
  return fmt::format("{} is not a {}number", echoed(text),
                     parse_whole<long double>(without_plus(text)) ? "finite " : "");
}

} // namespace troupe::data
