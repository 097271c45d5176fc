#include "metrics/report/folder_report.hpp"

#include "core/checkpoint/store.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "metrics/report/detail/json_lines.hpp"
#include "metrics/report/run_folder.hpp"
#include "metrics/report/run_json.hpp"
#include "metrics/report/run_state.hpp"

#include <functional>

namespace troupe::metrics {

namespace {

namespace fs = std::filesystem;

/// Recoveries are ordered by time, because each process numbers generations from 1.
std::int64_t time_of_recovery(const RecoveryRecord& recovery) {
  return recovery.time.time_since_epoch().count();
}

/// Adds the records of a file to the history. Logs the number of damaged lines: lines that are not
/// records or are not ordered by `key`.
template <class Record, class Key>
void read_lines(const fs::path& folder, const char* file,
                std::optional<Record> (*parse)(std::string_view), const Key& key,
                RunDocument& document) {
  std::int64_t damaged = 0, last = -1;
  for_each_line(folder / file, [&](std::string_view line) {
    const auto record = parse(line);
    if (record && std::invoke(key, *record) > last) {
      last = std::invoke(key, *record);
      document.history.add(*record);
    } else {
      ++damaged;
    }
    return true;
  });
  if (damaged > 0)
    document.log.add(
        {.time = std::chrono::system_clock::now(),
         .level = "warning",
         .text = fmt::format("{} damaged {} of {} {} left out", damaged,
                             damaged == 1 ? "line" : "lines", file, damaged == 1 ? "is" : "are")});
}

void find_checkpoint(RunDocument& document, const fs::path& folder) {
  const auto all = CheckpointStore{folder / "checkpoints"}.list();
  if (all.empty())
    return;
  document.checkpoints.last_step = all.front().step;
  document.checkpoints.path = all.front().path.string();
}

void take_summary(RunDocument& document, const RunSummary& summary) {
  document.error = summary.error;
  document.history.progress.finish(summary);
  document.workers = summary.workers;
  document.checkpoints.written = summary.checkpoints;
  document.checkpoints.failures = summary.checkpoint_failures;
}

} // namespace

Result<RunDocument> read_report(const fs::path& folder) {
  const auto named = echoed(folder.string());
  if (!fs::is_directory(folder))
    return fail(Errc::invalid_input, "{}: the folder does not exist", named);
  const auto state = read_run_state(folder); // before the lines: the run may end in between
  if (!state)
    return fail(Errc::invalid_input, "{} is not the folder of a run: it has no readable {} or {}",
                named, run_files::info, run_files::summary);

  RunDocument document;
  document.status = state->status;
  document.run = state->info;
  document.config = read_text(folder / run_files::config);
  document.history.progress.begin(state->info);
  read_lines(folder, run_files::steps, parse_step, &StepRecord::step, document);
  read_lines(folder, run_files::epochs, parse_epoch, &EpochRecord::epoch, document);
  read_lines(folder, run_files::recoveries, parse_recovery, time_of_recovery, document);
  read_lines(folder, run_files::samples, parse_generated, &GeneratedRecord::step, document);
  find_checkpoint(document, folder);
  if (state->summary) {
    take_summary(document, *state->summary);
    return document;
  }
  document.checkpoints.written.reset();
  if (state->status != "running")
    document.history.progress.stop();
  return document;
}

} // namespace troupe::metrics
