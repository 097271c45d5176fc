/// Keeps the newest spans of a timeline, for a page that shows the last step.
#pragma once

#include "metrics/detail/trace_entry.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string_view>
#include <vector>

namespace troupe::metrics {

/// Thread-safe.
class RecentSpans {
public:
  static constexpr std::size_t most = 16384;

  /// Numbers rows 0, 1, ... in the order of the calls.
  void add_row(std::string_view group, std::string_view name);
  /// Evicts the oldest span when full.
  void add(TraceEntry entry);
  void clear();

  /// Returns the spans between `begin` and `end`, clipped to them; if there are more than
  /// `most_spans`, the longest ones. Does not wait: skips spans that a device has not finished.
  /// Forgets spans that ended by `end`.
  Timeline take(std::chrono::nanoseconds begin, std::chrono::nanoseconds end,
                std::size_t most_spans);

private:
  std::mutex mutex_;
  std::vector<TimelineRow> rows_; ///< without spans
  std::deque<TraceEntry> entries_;
  std::int64_t lost_ = 0; ///< evicted since the last take()
};

} // namespace troupe::metrics
