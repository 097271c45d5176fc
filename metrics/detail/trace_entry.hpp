/// A span of a timeline. Its end, or both ends, may be events that a device has not reached.
#pragma once

#include "metrics/trace.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe::metrics {

struct TraceEntry {
  std::size_t row;
  SpanKind kind;
  std::string name;
  std::int64_t step;
  std::uint64_t bytes;
  Moment begin, end;
};

inline bool reached(const Moment& moment) {
  const auto* event = std::get_if<EventPtr>(&moment);
  return !event || (*event)->ready();
}

inline bool is_over(const TraceEntry& entry) {
  return reached(entry.begin) && reached(entry.end);
}

/// Precondition: reached(moment).
inline std::chrono::nanoseconds time_of(const Moment& moment) {
  const auto* event = std::get_if<EventPtr>(&moment);
  return event ? (*event)->time() : std::get<std::chrono::nanoseconds>(moment);
}

/// Returns the end, but never a time before the start: the events of a failed stream have no times.
inline std::chrono::nanoseconds end_of(const TraceEntry& entry) {
  return std::max(time_of(entry.begin), time_of(entry.end));
}

} // namespace troupe::metrics
