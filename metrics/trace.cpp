#include "metrics/trace.hpp"

#include "core/fail.hpp"
#include "metrics/detail/recent_spans.hpp"
#include "metrics/detail/trace_file.hpp"

#include <mutex>
#include <utility>

namespace troupe::metrics {

namespace {

std::chrono::nanoseconds steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

std::string full_name(const SpanLabel& label) {
  std::string name{label.name};
  if (!label.subject.empty())
    name.append(" ").append(label.subject);
  return name;
}

} // namespace

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
