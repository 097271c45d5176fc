/// Formats and parses times in UTC (RFC 3339).
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace troupe::metrics {

/// "2026-11-21T10:13:05Z"
std::string utc(std::chrono::system_clock::time_point time);
/// "2026-11-21T10:13:05.123Z"
std::string utc_milliseconds(std::chrono::system_clock::time_point time);

/// Parses the formats of the two functions above; empty for other texts.
std::optional<std::chrono::system_clock::time_point> parse_utc(const std::string& text);

} // namespace troupe::metrics
