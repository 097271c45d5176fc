#include "metrics/number_format.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace troupe::metrics {

namespace {

/// "3.61e-6": no trailing zeros, and no leading zeros in the exponent.
std::string scientific(double value) {
  const auto text = fmt::format("{:.2e}", value);
  const auto e = text.find('e');
  auto mantissa = text.substr(0, e);
  if (mantissa.find('.') != mantissa.npos)
    mantissa.erase(mantissa.find_last_not_of("0.") + 1);
  return fmt::format("{}e{}", mantissa, std::stoi(text.substr(e + 1)));
}

/// In hundredths, or with one digit if it is less than one hundredth.
std::string part_of_epochs(std::int64_t steps, std::int64_t steps_per_epoch) {
  const auto whole = steps / steps_per_epoch, left = steps % steps_per_epoch;
  const auto hundredths = 100 * left / steps_per_epoch;
  if (whole == 0 && hundredths == 0 && left > 0)
    return fmt::format("{:.1g}", static_cast<double>(left) / static_cast<double>(steps_per_epoch));
  auto text = fmt::format("{}.{:02}", format_count(whole), hundredths);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

} // namespace

std::string format_loss(double loss) {
  const double size = std::abs(loss);
  if (size != 0 && size < 1e-4)
    return scientific(loss);
  if (size != 0 && size < 0.01)
    return fmt::format("{:.3g}", loss);
  return fmt::format(fmt::runtime(size < 100 ? "{:.4f}" : "{:.5g}"), loss);
}

std::string format_perplexity(double value) {
  return value < 100 ? fmt::format("{:.2f}", value) : format_rate(value);
}

std::string format_percent(double ratio) {
  return fmt::format("{:.1f}%", 100 * ratio);
}

std::string format_mfu(double ratio) {
  return ratio > 1 ? "above 100% (Winograd, or peak measured too low)" : format_percent(ratio);
}

std::string format_operations(double per_second) {
  return per_second >= 1e12 ? fmt::format("{:.3g} TFLOP/s", per_second / 1e12)
                            : fmt::format("{:.3g} GFLOP/s", per_second / 1e9);
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

std::string format_steps(std::int64_t steps, std::int64_t steps_per_epoch) {
  auto text = counted(steps, "step");
  if (steps_per_epoch > 0)
    text += fmt::format(" ({} {})", part_of_epochs(steps, steps_per_epoch),
                        steps == steps_per_epoch ? "epoch" : "epochs");
  return text;
}

std::string format_rate(double per_second) {
  if (!std::isfinite(per_second) || per_second < 100)
    return fmt::format("{:.1f}", per_second);
  return format_count(std::llround(per_second));
}

std::string format_count(std::int64_t count) {
  auto digits = fmt::format("{}", count);
  const std::ptrdiff_t first = count < 0 ? 2 : 1;
  for (auto i = std::ssize(digits) - 3; i >= first; i -= 3)
    digits.insert(static_cast<std::size_t>(i), 1, ',');
  return digits;
}

std::string format_bytes(double bytes) {
  constexpr std::array<std::string_view, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit)
    bytes /= 1024;
  const bool whole = unit == 0 || bytes >= 100;
  return fmt::format("{:.{}f} {}", bytes, whole ? 0 : 1, units[unit]);
}

std::string format_seconds(double seconds) {
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

std::string format_clock(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0)
    return "-:--";
  const auto whole = std::llround(seconds);
  if (whole < 3600)
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole % 3600 / 60, whole % 60);
}

} // namespace troupe::metrics
