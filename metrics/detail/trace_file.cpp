#include "metrics/detail/trace_file.hpp"

#include "core/fail.hpp"
#include "metrics/json_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe::metrics {

namespace {

using std::chrono::nanoseconds;

/// The format's unit is microseconds.
std::string microseconds(nanoseconds time) {
  return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
}

/// The name and the position of a group or a row.
std::string metadata(std::string_view key, int group, std::size_t row, std::string_view name) {
  return fmt::format(R"({{"ph":"M","name":"{0}_name","pid":{1},"tid":{2},"args":{{"name":{3}}}}},
{{"ph":"M","name":"{0}_sort_index","pid":{1},"tid":{2},"args":{{"sort_index":{4}}}}},
)",
                     key, group, row, dumped(name),
                     key == "process" ? static_cast<std::size_t>(group) : row);
}

/// Row 0 is the group itself.
std::string event_of(const TraceEntry& entry, int group) {
  const auto begin = time_of(entry.begin);
  std::string args;
  if (entry.step >= 0)
    args = fmt::format(R"("step":{})", entry.step);
  if (entry.bytes > 0)
    args += fmt::format(R"({}"bytes":{})", args.empty() ? "" : ",", entry.bytes);
  return fmt::format(
      R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}},)"
      "\n",
      dumped(entry.name), span_kind_names[static_cast<std::size_t>(entry.kind)], group,
      entry.row + 1, microseconds(begin), microseconds(end_of(entry) - begin), args);
}

} // namespace

Result<std::unique_ptr<TraceFile>> TraceFile::create(const std::filesystem::path& path,
                                                     const TraceLimits& limits) {
  TROUPE_TRY(auto file, AtomicFile::create(path));
  // The format does not require the end of the array, so an incomplete file is readable.
  TROUPE_TRY(file.write("[\n"));
  return std::unique_ptr<TraceFile>{new TraceFile{std::move(file), limits}};
}

void TraceFile::add_row(std::string_view group, std::string_view name) {
  const std::lock_guard lock{mutex_};
  const auto [found, is_new] = groups_.try_emplace(std::string{group}, std::ssize(groups_) + 1);
  if (is_new)
    names_ += metadata("process", found->second, 0, group);
  group_of_.push_back(found->second);
  names_ += metadata("thread", found->second, group_of_.size(), name);
}

void TraceFile::add(TraceEntry entry) {
  const std::lock_guard lock{mutex_};
  if (waiting_.size() == limits_.waiting || taken_ == limits_.written) {
    ++dropped_;
    return;
  }
  ++taken_;
  waiting_.push_back(std::move(entry));
}

Status TraceFile::write_ended() {
  std::vector<TraceEntry> entries;
  std::vector<int> group_of;
  std::string text;
  {
    const std::lock_guard lock{mutex_};
    entries = std::exchange(waiting_, {});
    group_of = group_of_;
    text = std::exchange(names_, {});
  }
  const auto rest = std::stable_partition(entries.begin(), entries.end(), is_over);
  std::for_each(entries.begin(), rest,
                [&](const TraceEntry& entry) { text += event_of(entry, group_of[entry.row]); });
  {
    const std::lock_guard lock{mutex_};
    waiting_.insert(waiting_.begin(), std::make_move_iterator(rest),
                    std::make_move_iterator(entries.end()));
  }
  return file_.write(text);
}

Status TraceFile::flush() {
  const std::lock_guard lock{file_mutex_};
  return write_ended();
}

Status TraceFile::close() {
  const std::lock_guard lock{file_mutex_};
  TROUPE_TRY(write_ended());
  TROUPE_TRY(file_.write(
      fmt::format(R"({{"ph":"M","name":"trace","pid":0,"args":{{"spans":{},"dropped":{}}}}})"
                  "\n]\n",
                  taken_ - waiting_.size(), dropped_ + waiting_.size())));
  return file_.commit();
}

} // namespace troupe::metrics
