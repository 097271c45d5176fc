#include "metrics/trace.hpp"

#include "core/fail.hpp"
#include "metrics/detail/trace_file.hpp"

#include <deque>
#include <functional>
#include <iterator>
#include <mutex>
#include <utility>

namespace troupe::metrics {

namespace {

using std::chrono::nanoseconds;

std::chrono::nanoseconds steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

std::string full_name(const SpanLabel& label) {
  std::string name{label.name};
  if (!label.subject.empty())
    name.append(" ").append(label.subject);
  return name;
}

double in_seconds(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

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

/// Keeps the newest spans, for a page that shows the last step. Thread-safe.
class RecentSpans {
public:
  static constexpr std::size_t most = 16384;

  /// Numbers rows 0, 1, ... in the order of the calls.
  void add_row(std::string_view group, std::string_view name);
  /// Evicts the oldest span when full.
  void add(TraceEntry entry);
  void clear();

  /// As Trace::take().
  Timeline take(std::chrono::nanoseconds begin, std::chrono::nanoseconds end,
                std::size_t most_spans);

private:
  std::mutex mutex_;
  std::vector<TimelineRow> rows_; ///< without spans
  std::deque<TraceEntry> entries_;
  std::int64_t lost_ = 0; ///< evicted since the last take()
};

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

struct Track::State {
  explicit State(std::unique_ptr<TraceFile> to = nullptr)
      : file{std::move(to)}, wanted{file != nullptr} {}

  std::size_t add_row(std::string_view group, std::string_view name);
  void add(TraceEntry entry);

  const std::unique_ptr<TraceFile> file; ///< null: nothing is written
  std::atomic<bool> watched = false;
  std::atomic<bool> wanted; ///< written or watched
  RecentSpans recent;
  std::mutex mutex; ///< guards the rows: `file` and `recent` have the same
  std::size_t rows = 0;
};

std::size_t Track::State::add_row(std::string_view group, std::string_view name) {
  const std::lock_guard lock{mutex};
  recent.add_row(group, name);
  if (file)
    file->add_row(group, name);
  return rows++;
}

void Track::State::add(TraceEntry entry) {
  if (watched)
    recent.add(entry);
  if (file)
    file->add(std::move(entry));
}

Track::Track(std::shared_ptr<State> trace, std::size_t row)
    : trace_{std::move(trace)}, wanted_{&trace_->wanted}, row_{row} {}

void Track::add(const SpanLabel& label, Moment begin, Moment end) const {
  if (on())
    trace_->add({row_, label.kind, full_name(label), label.step, label.bytes, std::move(begin),
                 std::move(end)});
}

Span::Span(const Track& track, Stream* stream, const SpanLabel& label) {
  if (stream)
    stream->begin_range(full_name(label));
  open_.emplace(
      Open{track, stream, label, stream ? Moment{stream->record()} : Moment{steady_now()}});
}

void Span::end() {
  auto& [track, stream, label, begin] = *open_;
  track.add(label, std::move(begin), stream ? Moment{stream->record()} : Moment{steady_now()});
  if (stream)
    stream->end_range();
}

Result<Trace> Trace::create(const std::filesystem::path& path, const TraceLimits& limits) {
  TROUPE_TRY(auto file, TraceFile::create(path, limits));
  Trace trace;
  trace.state_ = std::make_shared<Track::State>(std::move(file));
  return trace;
}

Trace Trace::unwritten() {
  Trace trace;
  trace.state_ = std::make_shared<Track::State>();
  return trace;
}

Track Trace::track(std::string_view group, std::string_view name) const {
  if (!state_)
    return {};
  return {state_, state_->add_row(group, name)};
}

Status Trace::flush() const {
  return state_ && state_->file ? state_->file->flush() : Status{};
}

Status Trace::close() const {
  return state_ && state_->file ? state_->file->close() : Status{};
}

void Trace::watch(bool wanted) const {
  if (!state_)
    return;
  state_->watched = wanted;
  state_->wanted = wanted || state_->file;
  if (!wanted)
    state_->recent.clear();
}

Timeline Trace::take(std::chrono::nanoseconds begin, std::chrono::nanoseconds end,
                     std::size_t most_spans) const {
  return state_ ? state_->recent.take(begin, end, most_spans) : Timeline{};
}

} // namespace troupe::metrics
