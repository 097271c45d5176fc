/// Sizes, durations, intervals, lengths and endpoints as users write them in config files.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// Parses "25MiB", "1.5 GiB", "10MB", "4096" (bytes). Returns nullopt if it is not a whole number
/// of bytes.
std::optional<std::uint64_t> parse_size(std::string_view text);
/// Uses the largest binary unit that divides the size: "25MiB"; else plain bytes: "1000".
std::string format_size(std::uint64_t bytes);

/// Parses "100ms", "5s", "1.5min", "2h". A unit is required. Returns nullopt if it is not a whole
/// number of milliseconds.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string format_duration(std::chrono::milliseconds duration);

/// How often something happens in a run.
struct Interval {
  enum class Unit : std::uint8_t { never, steps, epochs };

  Unit unit = Unit::never;
  std::int64_t count = 0;

  bool operator==(const Interval&) const = default;
};

/// Parses "1 epoch", "2 epochs", "500 steps", "never".
std::optional<Interval> parse_interval(std::string_view text);
std::string format_interval(const Interval& interval);

/// A length of time within a run.
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

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;

  bool operator==(const Endpoint&) const = default;
};

/// Parses "127.0.0.1:9401", "host.example:80", "[::1]:7401"; the host is returned without brackets.
std::optional<Endpoint> parse_endpoint(std::string_view text);

/// Whether the text is http:// or https:// with a host and at most a path after it.
bool is_web_address(std::string_view text);
/// Returns HOST:PORT, with brackets around an IPv6 address.
std::string to_string(const Endpoint& endpoint);
/// Whether only this machine can connect to it: localhost, 127.0.0.0/8, ::1. Does not resolve other
/// names.
bool is_loopback(const Endpoint& endpoint);
/// Whether it stands for every address of the machine, which is only valid for listening: 0.0.0.0,
/// ::.
bool is_any_address(const Endpoint& endpoint);

} // namespace troupe
