/// Moments as text, in UTC (RFC 3339).
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace troupe::metrics {

/// "2026-11-21T10:13:05Z"
std::string utc(std::chrono::system_clock::time_point time);
/// "2026-11-21T10:13:05.123Z"
std::string utc_milliseconds(std::chrono::system_clock::time_point time);

/// What the two above have written; empty for any other text.
std::optional<std::chrono::system_clock::time_point> parse_utc(const std::string& text);

} // namespace troupe::metrics
