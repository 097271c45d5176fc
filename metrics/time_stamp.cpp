#include "metrics/time_stamp.hpp"

#include <fmt/chrono.h>

#include <charconv>
#include <ctime>

namespace troupe::metrics {

namespace {

using std::chrono::milliseconds, std::chrono::system_clock;

/// ".123"; empty for a whole second.
std::optional<milliseconds> fraction_of(std::string_view text) {
  int count = 0;
  if (text.empty())
    return milliseconds{0};
  const auto* end = text.data() + text.size();
  if (text.size() != 4 || text[0] != '.' ||
      std::from_chars(text.data() + 1, end, count).ptr != end || count < 0)
    return std::nullopt;
  return milliseconds{count};
}

} // namespace

std::string utc(system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(system_clock::to_time_t(time)));
}

std::string utc_milliseconds(system_clock::time_point time) {
  const auto count = std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(system_clock::to_time_t(time)),
                     count % 1000);
}

std::optional<system_clock::time_point> parse_utc(const std::string& text) {
  std::tm parts = {};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (!rest || !text.ends_with('Z'))
    return std::nullopt;
  const std::string_view left{rest};
  const auto fraction = left.empty() ? std::nullopt : fraction_of(left.substr(0, left.size() - 1));
  if (!fraction)
    return std::nullopt;
  return system_clock::from_time_t(::timegm(&parts)) + *fraction;
}

} // namespace troupe::metrics
