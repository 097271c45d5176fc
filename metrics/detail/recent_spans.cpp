#include "metrics/detail/recent_spans.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace troupe::metrics {

namespace {

using std::chrono::nanoseconds;

double in_seconds(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// A span and its row.
struct Placed {
  std::size_t row;
  TimelineSpan span;
};

/// Keeps the longest spans, in order; returns the number of removed ones.
std::int64_t shorten(std::vector<Placed>& spans, std::size_t most) {
  if (spans.size() <= most)
    return 0;
  std::vector<double> lengths;
  for (const auto& placed : spans)
    lengths.push_back(placed.span.seconds);
  const auto least = lengths.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(lengths.begin(), least, lengths.end(), std::greater<>{});
  // Spans as long as the first removed one are kept while there is room.
  auto room = std::ssize(spans) - std::ranges::count_if(spans, [&](const Placed& placed) {
                return placed.span.seconds <= *least;
              });
  room = static_cast<std::ptrdiff_t>(most) - room;
  const auto gone = std::erase_if(spans, [&](const Placed& placed) {
    return placed.span.seconds < *least || (placed.span.seconds == *least && room-- <= 0);
  });
  return static_cast<std::int64_t>(gone);
}

} // namespace

void RecentSpans::add_row(std::string_view group, std::string_view name) {
  const std::lock_guard lock{mutex_};
  rows_.push_back({std::string{group}, std::string{name}, {}});
}

void RecentSpans::add(TraceEntry entry) {
  const std::lock_guard lock{mutex_};
  if (entries_.size() == most) {
    entries_.pop_front();
    ++lost_;
  }
  entries_.push_back(std::move(entry));
}

void RecentSpans::clear() {
  const std::lock_guard lock{mutex_};
  entries_.clear();
  lost_ = 0;
}

Timeline RecentSpans::take(nanoseconds begin, nanoseconds end, std::size_t most_spans) {
  std::deque<TraceEntry> entries;
  std::vector<TimelineRow> rows;
  std::int64_t lost = 0;
  {
    const std::lock_guard lock{mutex_};
    entries = std::exchange(entries_, {});
    rows = rows_;
    lost = std::exchange(lost_, 0);
  }
  std::vector<Placed> spans;
  bool is_whole = false; // all evicted spans are older than this section
  std::erase_if(entries, [&](const TraceEntry& entry) {
    if (!is_over(entry))
      return false;
    const auto from = time_of(entry.begin), to = end_of(entry);
    is_whole |= to <= begin;
    if (to > begin && from < end) {
      const auto first = std::max(from, begin), last = std::min(to, end);
      spans.push_back(
          {entry.row,
           {in_seconds(first - begin), in_seconds(last - first), entry.kind, entry.name}});
    }
    return to <= end;
  });
  {
    const std::lock_guard lock{mutex_};
    entries_.insert(entries_.begin(), std::make_move_iterator(entries.begin()),
                    std::make_move_iterator(entries.end()));
    for (; entries_.size() > most; ++lost_)
      entries_.pop_front();
  }
  Timeline timeline{.seconds = in_seconds(end - begin), .rows = {}, .dropped = is_whole ? 0 : lost};
  timeline.dropped += shorten(spans, most_spans);
  for (auto& placed : spans)
    rows[placed.row].spans.push_back(std::move(placed.span));
  // Groups are ordered by their first rows, each with all of its rows.
  for (auto row = rows.begin(); row != rows.end(); ++row)
    std::stable_partition(row, rows.end(), [&group = row->group](const TimelineRow& other) {
      return other.group == group;
    });
  for (auto& row : rows)
    if (!row.spans.empty())
      timeline.rows.push_back(std::move(row));
  return timeline;
}

} // namespace troupe::metrics
