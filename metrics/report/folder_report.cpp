#include "metrics/report/folder_report.hpp"

#include "core/checkpoint/store.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "metrics/report/detail/json_lines.hpp"
#include "metrics/report/run_folder.hpp"
#include "metrics/report/run_json.hpp"
#include "metrics/report/run_state.hpp"

#include <utility>

namespace troupe::metrics {

namespace {

namespace fs = std::filesystem;

std::int64_t key_of(const StepRecord& step) {
  return step.step;
}
std::int64_t key_of(const EpochRecord& epoch) {
  return epoch.epoch;
}
std::int64_t key_of(const GeneratedRecord& sample) {
  return sample.step;
}

std::int64_t key_of(const RecoveryRecord& recovery) { // each process numbers generations from 1
  return recovery.time.time_since_epoch().count();
}

/// Returns the number of damaged lines: lines that are not records or are out of order.
template <class Record>
std::int64_t read_lines(const fs::path& path, std::optional<Record> (*parse)(std::string_view),
                        RunHistory& history) {
  std::int64_t damaged = 0, last = -1;
  for_each_line(path, [&](std::string_view line) {
    const auto record = parse(line);
    if (record && key_of(*record) > last) {
      last = key_of(*record);
      history.add(*record);
    } else {
      ++damaged;
    }
    return true;
  });
  return damaged;
}

void find_checkpoint(RunDocument& document, const fs::path& folder) {
  const auto all = CheckpointStore{folder / "checkpoints"}.list();
  if (all.empty())
    return;
  document.checkpoints.last_step = all.front().step;
  document.checkpoints.path = all.front().path.string();
}

void take_summary(RunDocument& document, const RunSummary& summary) {
  document.status = summary.status;
  document.error = summary.error;
  document.history.progress.finish(summary);
  document.workers = summary.workers;
  document.checkpoints.written = summary.checkpoints;
  document.checkpoints.failures = summary.checkpoint_failures;
}

} // namespace

Result<FolderReport> read_report(const fs::path& folder) {
  const auto named = echoed(folder.string());
  if (!fs::is_directory(folder))
    return fail(Errc::invalid_input, "{}: the folder does not exist", named);
  const auto state = read_run_state(folder); // before the lines: the run may end in between
  if (!state)
    return fail(Errc::invalid_input, "{} is not the folder of a run: it has no readable {} or {}",
                named, run_files::info, run_files::summary);

  FolderReport report;
  auto& document = report.document;
  document.run = state->info;
  document.config = read_text(folder / run_files::config);
  auto& history = document.history;
  history.progress.begin(state->info);
  const auto note = [&](std::int64_t damaged, const char* file) {
    if (damaged > 0)
      report.notes.push_back(fmt::format("{} damaged {} of {} {} left out", damaged,
                                         damaged == 1 ? "line" : "lines", file,
                                         damaged == 1 ? "is" : "are"));
  };
  note(read_lines(folder / run_files::steps, parse_step, history), run_files::steps);
  note(read_lines(folder / run_files::epochs, parse_epoch, history), run_files::epochs);
  note(read_lines(folder / run_files::recoveries, parse_recovery, history), run_files::recoveries);
  note(read_lines(folder / run_files::samples, parse_generated, history), run_files::samples);
  find_checkpoint(document, folder);
  if (state->summary) {
    take_summary(document, *state->summary);
  } else {
    document.status = state->status;
    document.checkpoints.written.reset();
    if (state->status != "running")
      history.progress.stop();
  }
  for (const auto& text : report.notes)
    document.log.add({.time = std::chrono::system_clock::now(), .level = "warning", .text = text});
  return report;
}

} // namespace troupe::metrics
