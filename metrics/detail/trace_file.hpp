/// Writes a timeline to a file.
#pragma once

#include "core/atomic_file.hpp"
#include "metrics/trace.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::metrics {

/// A span of a timeline. Its end, or both ends, may be events that a device has not reached.
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

/// Thread-safe.
class TraceFile {
public:
  static Result<std::unique_ptr<TraceFile>> create(const std::filesystem::path& path,
                                                   const TraceLimits& limits);

  /// Numbers rows 0, 1, ... in the order of the calls.
  void add_row(std::string_view group, std::string_view name);
  void add(TraceEntry entry);
  Status flush();
  Status close();

private:
  TraceFile(AtomicFile file, const TraceLimits& limits) : limits_{limits}, file_{std::move(file)} {}
  Status write_ended();

  const TraceLimits limits_;
  std::mutex mutex_; ///< guards the members up to `dropped_`
  std::map<std::string, int, std::less<>> groups_;
  std::vector<int> group_of_; ///< by row
  std::string names_;         ///< metadata not yet written
  std::vector<TraceEntry> waiting_;
  std::size_t taken_ = 0, dropped_ = 0;
  std::mutex file_mutex_; ///< lock before `mutex_`
  AtomicFile file_;
};

} // namespace troupe::metrics
