/// The newest spans of a timeline, for a page that shows the last step.
#pragma once

#include "metrics/detail/trace_entry.hpp"
#include "metrics/timeline.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::metrics {

/// Any thread may call anything.
class RecentSpans {
public:
  static constexpr std::size_t most = 16384;

  /// Rows have the numbers 0, 1, ... in the order of this call.
  void add_row(std::string_view group, std::string_view name);
  /// Where there is no room, the oldest one goes.
  void add(TraceEntry entry);
  void clear();

  /// What lies between the two moments; where that is more than so many spans, the longest of it.
  /// Nothing waits: of what a device has not done yet, nothing is told. What lies before the end is
  /// forgotten.
  Timeline take(std::chrono::nanoseconds begin, std::chrono::nanoseconds end,
                std::size_t most_spans);

private:
  struct Row {
    std::string group, name;
  };

  std::mutex mutex_;
  std::vector<Row> rows_;
  std::deque<TraceEntry> entries_;
  std::int64_t lost_ = 0; ///< since the last take()
};

} // namespace troupe::metrics
