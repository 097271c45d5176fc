#include "metrics/report/run_state.hpp"

#include "core/checkpoint/store.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "metrics/number_format.hpp"
#include "metrics/report/epoch_history.hpp"
#include "metrics/report/run_folder.hpp"
#include "metrics/report/run_json.hpp"
#include "metrics/text_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace troupe::metrics {

namespace fs = std::filesystem;

namespace {

bool is_better(const EpochRecord& a, const EpochRecord& b, BestBy by) {
  if (by == BestBy::accuracy && a.test_accuracy && b.test_accuracy)
    return *a.test_accuracy > *b.test_accuracy;
  return *a.test_loss < *b.test_loss;
}

/// The checkpoint after this number of steps; empty: it was not kept.
std::string checkpoint_of(const std::filesystem::path& run, std::int64_t steps) {
  for (const auto& entry : CheckpointStore{run / "checkpoints"}.list())
    if (entry.step == steps)
      return entry.path.string();
  return {};
}

} // namespace

std::optional<EpochRecord> read_best_epoch(const std::filesystem::path& run, BestBy by) {
  std::optional<EpochRecord> best;
  for_each_line(run / run_files::epochs, [&](std::string_view line) {
    const auto epoch = parse_epoch(line);
    if (epoch && epoch->test_loss && (!best || is_better(*epoch, *best, by)))
      best = epoch;
    return true;
  });
  return best;
}

std::string format_result(const RunInfo& run, const EpochRecord& epoch, BestBy by) {
  if (by == BestBy::accuracy && epoch.test_accuracy)
    return "test accuracy " + format_percent(*epoch.test_accuracy);
  if (const auto found = perplexity(run, epoch.test_loss))
    return "test perplexity " + format_perplexity(*found);
  return "test loss " + format_loss(epoch.test_loss.value_or(0));
}

std::string describe_best(const std::filesystem::path& folder, const RunInfo& run, BestBy by) {
  const auto best = read_best_epoch(folder, by);
  if (!best)
    return {};
  const auto checkpoint = checkpoint_of(folder, last_step_of(*best, run) + 1);
  return fmt::format("best: epoch {}, {}, {}", best->epoch + 1, format_result(run, *best, by),
                     checkpoint.empty() ? "its checkpoint was not kept (see checkpoint.best)"
                                        : "checkpoint " + checkpoint);
}

std::optional<RunState> read_run_state(const fs::path& folder) {
  // Check this before reading the summary: the run may end in between.
  const bool is_running = is_being_written(folder / run_files::steps);
  auto summary = parse_summary(read_text(folder / run_files::summary));
  auto info = parse_run_info(read_text(folder / run_files::info));
  if (!info && summary)
    info = *summary;
  if (!info)
    return std::nullopt;
  const std::string without = is_running ? "running" : "interrupted";
  auto status = summary ? summary->status : without;
  return RunState{*std::move(info), std::move(summary), std::move(status)};
}

Result<std::vector<ListedRun>> list_runs(const fs::path& output) {
  std::error_code error;
  std::vector<ListedRun> runs;
  fs::directory_iterator at{output, error};
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory)
    return fail(Errc::invalid_input, "{}: the folder does not exist", echoed(output.string()));
  for (; !error && at != fs::directory_iterator{}; at.increment(error))
    if (auto state = read_run_state(at->path()))
      runs.push_back({*std::move(state), at->path(), read_best_epoch(at->path())});
  if (error)
    return fail(Errc::io, "cannot read {}: {}", echoed(output.string()), error.message());
  std::ranges::sort(runs, [](const ListedRun& a, const ListedRun& b) {
    return std::pair{b.info.started, a.folder} < std::pair{a.info.started, b.folder};
  });
  return runs;
}

std::string read_text(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace troupe::metrics
