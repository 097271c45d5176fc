#include "trace.hpp"

#include "troupe/core/atomic_file.hpp"
#include "troupe/core/fail.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe::metrics {

namespace {

using std::chrono::nanoseconds;

constexpr std::string_view kind_names[] = {"compute", "collective", "optimizer",
                                           "data",    "copy",       "handler"};

nanoseconds now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

bool reached(const Moment& moment) {
  const auto* event = std::get_if<EventPtr>(&moment);
  return !event || (*event)->ready();
}

nanoseconds time_of(const Moment& moment) {
  const auto* event = std::get_if<EventPtr>(&moment);
  return event ? (*event)->time() : std::get<nanoseconds>(moment);
}

std::string full_name(const SpanLabel& label) {
  std::string name{label.name};
  if (!label.subject.empty())
    name.append(" ").append(label.subject);
  return name;
}

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The format counts in microseconds.
std::string microseconds(nanoseconds time) {
  return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
}

/// What a group or a row is called, and where it stands.
std::string metadata(std::string_view key, int group, int row, std::string_view name) {
  return fmt::format(R"({{"ph":"M","name":"{0}_name","pid":{1},"tid":{2},"args":{{"name":{3}}}}},
{{"ph":"M","name":"{0}_sort_index","pid":{1},"tid":{2},"args":{{"sort_index":{4}}}}},
)",
                     key, group, row, json_string(name), key == "process" ? group : row);
}

struct Entry {
  int group, row;
  SpanKind kind;
  std::string name;
  std::int64_t step;
  std::uint64_t bytes;
  Moment begin, end;
};

std::string to_json(const Entry& entry) {
  const auto begin = time_of(entry.begin);
  // The events of a stream that has failed have no times.
  const auto duration = std::max(nanoseconds{0}, time_of(entry.end) - begin);
  std::string args;
  if (entry.step >= 0)
    args = fmt::format(R"("step":{})", entry.step);
  if (entry.bytes > 0)
    args += fmt::format(R"({}"bytes":{})", args.empty() ? "" : ",", entry.bytes);
  return fmt::format(
      R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}},)"
      "\n",
      json_string(entry.name), kind_names[static_cast<std::size_t>(entry.kind)], entry.group,
      entry.row, microseconds(begin), microseconds(duration), args);
}

} // namespace

struct Track::State {
  State(AtomicFile to, const TraceLimits& bounds) : limits{bounds}, file{std::move(to)} {}
  /// Its group and its row.
  std::pair<int, int> add_row(std::string_view group, std::string_view name);
  void add(Entry entry);
  Status write_ended();
  const TraceLimits limits;
  std::mutex mutex; ///< guards what follows, up to the file
  std::map<std::string, int, std::less<>> groups;
  int rows = 0;
  std::string names; ///< metadata that has to be written
  std::vector<Entry> waiting;
  std::size_t taken = 0, dropped = 0;
  std::mutex file_mutex; ///< taken before `mutex`
  AtomicFile file;
};

std::pair<int, int> Track::State::add_row(std::string_view group, std::string_view name) {
  const std::lock_guard lock{mutex};
  const auto [found, is_new] = groups.try_emplace(std::string{group}, std::ssize(groups) + 1);
  if (is_new)
    names += metadata("process", found->second, 0, group);
  names += metadata("thread", found->second, ++rows, name);
  return {found->second, rows};
}

void Track::State::add(Entry entry) {
  const std::lock_guard lock{mutex};
  if (waiting.size() == limits.waiting || taken == limits.written) {
    ++dropped;
    return;
  }
  ++taken;
  waiting.push_back(std::move(entry));
}

Status Track::State::write_ended() {
  std::vector<Entry> entries;
  std::string text;
  {
    const std::lock_guard lock{mutex};
    entries = std::exchange(waiting, {});
    text = std::exchange(names, {});
  }
  const auto ended = [](const Entry& entry) { return reached(entry.begin) && reached(entry.end); };
  const auto rest = std::stable_partition(entries.begin(), entries.end(), ended);
  std::for_each(entries.begin(), rest, [&](const Entry& entry) { text += to_json(entry); });
  {
    const std::lock_guard lock{mutex};
    waiting.insert(waiting.begin(), std::make_move_iterator(rest),
                   std::make_move_iterator(entries.end()));
  }
  return file.write(text);
}

void Track::add(const SpanLabel& label, Moment begin, Moment end) const {
  if (on())
    trace_->add({group_, row_, label.kind, full_name(label), label.step, label.bytes,
                 std::move(begin), std::move(end)});
}

Span::Span(const Track& track, Stream* stream, const SpanLabel& label) {
  if (stream)
    stream->begin_range(full_name(label));
  open_.emplace(Open{track, stream, label, stream ? Moment{stream->record()} : Moment{now()}});
}

void Span::end() {
  auto& [track, stream, label, begin] = *open_;
  track.add(label, std::move(begin), stream ? Moment{stream->record()} : Moment{now()});
  if (stream)
    stream->end_range();
}

Result<Trace> Trace::create(const std::filesystem::path& path, const TraceLimits& limits) {
  auto file = AtomicFile::create(path);
  if (!file)
    return failure(file.error());
  // A file that ends in the middle of the array may be read: the format asks for no end.
  TROUPE_TRY(file->write("[\n"));
  Trace trace;
  trace.state_ = std::make_shared<Track::State>(std::move(*file), limits);
  return trace;
}

Track Trace::track(std::string_view group, std::string_view name) const {
  if (!state_)
    return {};
  const auto [number, row] = state_->add_row(group, name);
  return {state_, number, row};
}

Status Trace::flush() const {
  if (!state_)
    return {};
  const std::lock_guard lock{state_->file_mutex};
  return state_->write_ended();
}

Status Trace::close() const {
  if (!state_)
    return {};
  const std::lock_guard lock{state_->file_mutex};
  TROUPE_TRY(state_->write_ended());
  TROUPE_TRY(state_->file.write(fmt::format(
      R"({{"ph":"M","name":"trace","pid":0,"args":{{"spans":{},"dropped":{}}}}})"
      "\n]\n",
      state_->taken - state_->waiting.size(), state_->dropped + state_->waiting.size())));
  return state_->file.commit();
}

} // namespace troupe::metrics
