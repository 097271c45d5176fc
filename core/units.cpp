#include "core/units.hpp"

#include "core/whole_number.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace troupe {

namespace {

struct UnitName {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array<UnitName, 10> size_units = {{{"B", 1},
                                                  {"KiB", 1ull << 10},
                                                  {"MiB", 1ull << 20},
                                                  {"GiB", 1ull << 30},
                                                  {"TiB", 1ull << 40},
                                                  {"kB", 1000},
                                                  {"KB", 1000},
                                                  {"MB", 1000000},
                                                  {"GB", 1000000000},
                                                  {"TB", 1000000000000}}};
constexpr std::array<UnitName, 4> time_units = {
    {{"ms", 1}, {"s", 1000}, {"min", 60000}, {"h", 3600000}}};

constexpr std::array<std::pair<std::string_view, Length::Unit>, 7> length_units = {
    {{" epochs", Length::Unit::epochs},
     {" epoch", Length::Unit::epochs},
     {" steps", Length::Unit::steps},
     {" step", Length::Unit::steps},
     {" tokens", Length::Unit::tokens},
     {" token", Length::Unit::tokens},
     {"%", Length::Unit::percent}}};

/// Keeps sums of such lengths far from overflow, also in steps.
constexpr double longest_length = 1e15;

/// A number and the text after it, without the blanks between.
struct NumberAndRest {
  double number;
  std::string_view rest;
};

std::optional<NumberAndRest> split_number(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(number) || number < 0)
    return std::nullopt;
  auto rest = text.substr(static_cast<std::size_t>(end - text.data()));
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return NumberAndRest{number, rest};
}

std::optional<std::uint64_t> scaled(std::string_view text, std::span<const UnitName> units) {
  const auto parts = split_number(text);
  if (!parts)
    return std::nullopt;
  for (const auto& unit : units) {
    if (unit.name != parts->rest)
      continue;
    const double value = parts->number * static_cast<double>(unit.factor);
    const double whole = std::round(value);
    // Few decimal fractions are exact in binary: 16.1 s are 16100.000000000002 ms.
    const double rounding = value * 4 * std::numeric_limits<double>::epsilon();
    if (std::abs(value - whole) > rounding || value > 9.0e15) // larger doubles skip whole numbers
      return std::nullopt;
    return static_cast<std::uint64_t>(whole);
  }
  return std::nullopt;
}

/// Writes a count in the largest of the units that divides it. The first has the factor 1, and is
/// written as `first`. Units ascend.
std::string in_units(std::uint64_t count, std::span<const UnitName> units, std::string_view first) {
  for (std::size_t i = units.size() - 1; i > 0; --i)
    if (count != 0 && count % units[i].factor == 0)
      return fmt::format("{}{}", count / units[i].factor, units[i].name);
  return fmt::format("{}{}", count, first);
}

} // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  if (const auto bytes = read_whole_number<std::uint64_t>(text))
    return bytes;
  return scaled(text, size_units);
}

std::string format_size(std::uint64_t bytes) {
  return in_units(bytes, std::span{size_units}.first(5), "");
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto value = scaled(text, time_units);
  if (!value)
    return std::nullopt;
  return std::chrono::milliseconds{static_cast<std::int64_t>(*value)};
}

std::string format_duration(std::chrono::milliseconds duration) {
  return in_units(static_cast<std::uint64_t>(duration.count()), time_units, "ms");
}

std::optional<Interval> parse_interval(std::string_view text) {
  if (text == "never")
    return Interval{};
  const auto blank = text.find(' ');
  if (blank == std::string_view::npos)
    return std::nullopt;
  const auto count = read_whole_number<std::int64_t>(text.substr(0, blank));
  if (!count || *count < 1 || *count > 1000000000)
    return std::nullopt;
  const auto unit = text.substr(blank + 1);
  if (unit == "epoch" || unit == "epochs")
    return Interval{Interval::Unit::epochs, *count};
  if (unit == "step" || unit == "steps")
    return Interval{Interval::Unit::steps, *count};
  return std::nullopt;
}

std::string format_interval(const Interval& interval) {
  if (interval.unit == Interval::Unit::never)
    return "never";
  return fmt::format("{} {}{}", interval.count,
                     interval.unit == Interval::Unit::epochs ? "epoch" : "step",
                     interval.count == 1 ? "" : "s");
}

std::optional<Length> parse_length(std::string_view text) {
  double count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool begins_with_digit = !text.empty() && text.front() >= '0' && text.front() <= '9';
  if (!begins_with_digit || error != std::errc{})
    return std::nullopt;
  const auto rest = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const auto& [name, unit] : length_units)
    if (rest == name && count <= (unit == Length::Unit::percent ? 100 : longest_length))
      return Length{count, unit};
  return std::nullopt;
}

std::string format_length(const Length& length) {
  if (length.unit == Length::Unit::epochs)
    return fmt::format("{}", length.count);
  if (length.unit == Length::Unit::percent)
    return fmt::format("{}%", length.count);
  return fmt::format("{} {}{}", length.count, length.unit == Length::Unit::steps ? "step" : "token",
                     length.count == 1 ? "" : "s");
}

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return std::nullopt;
  auto host = text.substr(0, colon);
  const auto port = read_whole_number<std::uint16_t>(text.substr(colon + 1));
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed)
    host = host.substr(1, host.size() - 2);
  const bool bad = host.empty() || host.find_first_of(" \t/[]") != std::string_view::npos ||
                   (!bracketed && host.find(':') != std::string_view::npos);
  if (!port || bad)
    return std::nullopt;
  return Endpoint{std::string{host}, *port};
}

bool is_loopback(const Endpoint& endpoint) {
  in_addr v4 = {};
  if (inet_pton(AF_INET, endpoint.host.c_str(), &v4) == 1)
    return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6 = {};
  if (inet_pton(AF_INET6, endpoint.host.c_str(), &v6) == 1)
    return IN6_IS_ADDR_LOOPBACK(&v6);
  return endpoint.host == "localhost";
}

bool is_any_address(const Endpoint& endpoint) {
  in_addr v4 = {};
  if (inet_pton(AF_INET, endpoint.host.c_str(), &v4) == 1)
    return v4.s_addr == INADDR_ANY;
  in6_addr v6 = {};
  return inet_pton(AF_INET6, endpoint.host.c_str(), &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6);
}

std::string to_string(const Endpoint& endpoint) {
  const bool numeric_v6 = endpoint.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(numeric_v6 ? "[{}]:{}" : "{}:{}"), endpoint.host, endpoint.port);
}

bool is_web_address(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (text.starts_with(scheme)) {
      const auto rest = text.substr(scheme.size());
      return !rest.empty() && rest.front() != '/' &&
             rest.find_first_of(" \t\r\n?#") == std::string_view::npos;
    }
  return false;
}

} // namespace troupe
