#include "readable.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace troupe::metrics {

std::string readable_loss(double loss) {
  const double size = std::abs(loss);
  if (size != 0 && size < 0.01)
    return fmt::format("{:.3g}", loss);
  return fmt::format(fmt::runtime(size < 100 ? "{:.4f}" : "{:.5g}"), loss);
}

std::string readable_perplexity(double value) {
  return value < 100 ? fmt::format("{:.2f}", value) : readable_rate(value);
}

std::string readable_percent(double ratio) {
  return fmt::format("{:.1f}%", 100 * ratio);
}

std::string readable_rate(double per_second) {
  if (!std::isfinite(per_second) || per_second < 100)
    return fmt::format("{:.1f}", per_second);
  return readable_count(std::llround(per_second));
}

std::string readable_count(std::int64_t count) {
  auto digits = fmt::format("{}", count);
  const std::ptrdiff_t first = count < 0 ? 2 : 1;
  for (auto i = std::ssize(digits) - 3; i >= first; i -= 3)
    digits.insert(static_cast<std::size_t>(i), 1, ',');
  return digits;
}

std::string readable_bytes(double bytes) {
  constexpr std::array<std::string_view, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit)
    bytes /= 1024;
  const bool whole = unit == 0 || bytes >= 100;
  return fmt::format("{:.{}f} {}", bytes, whole ? 0 : 1, units[unit]);
}

std::string readable_seconds(double seconds) {
  if (!std::isfinite(seconds))
    return fmt::format("{}", seconds);
  if (seconds < 0.9995) // more would be "1e+03 ms"
    return fmt::format("{:.3g} ms", 1000 * seconds);
  if (seconds < 60)
    return fmt::format("{:.3g} s", seconds);
  const auto whole = std::llround(seconds);
  if (whole < 3600)
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string readable_clock(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0)
    return "-:--";
  const auto whole = std::llround(seconds);
  if (whole < 3600)
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole % 3600 / 60, whole % 60);
}

std::string readable_number(double value) {
  const double size = std::abs(value);
  if (size >= 1e6)
    return fmt::format("{:.4g}M", value / 1e6);
  if (size >= 9999.5) // which four digits would write as "1e+04"
    return fmt::format("{:.4g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

std::string capitalized(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

} // namespace troupe::metrics
