/// The state of a run and its best evaluation, from the files in its folder, and those of the runs
/// of a folder.
#pragma once

#include "core/error.hpp"
#include "metrics/records/epoch.hpp"
#include "metrics/records/run.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::metrics {

enum class BestBy : std::uint8_t { accuracy, loss };

/// Returns the epoch with the highest test accuracy or the lowest test loss, the first one of
/// equals. Compares epochs without accuracies by loss. Empty if no epoch was evaluated. Blocks on a
/// file.
std::optional<EpochRecord> read_best_epoch(const std::filesystem::path& run,
                                           BestBy by = BestBy::accuracy);

/// "test accuracy 91.2%". Without accuracies, or by loss: "test loss 1.234", or for texts "test
/// perplexity 6.21".
std::string format_result(const RunInfo& run, const EpochRecord& epoch,
                          BestBy by = BestBy::accuracy);

/// "best: epoch 2, test accuracy 91.2%, checkpoint FOLDER", or that its checkpoint was not kept.
/// Empty if no epoch was evaluated. Blocks on files.
std::string describe_best(const std::filesystem::path& folder, const RunInfo& run, BestBy by);

/// From run.json and summary.json.
struct RunState {
  RunInfo info;
  std::optional<RunSummary> summary; ///< only if the run has ended
  std::string status;                ///< completed, stopped, failed, running, interrupted
};

/// Empty if the folder is not a run's. Blocks on files.
std::optional<RunState> read_run_state(const std::filesystem::path& folder);

struct ListedRun : RunState {
  std::filesystem::path folder;
  std::optional<EpochRecord> best; ///< empty: no epoch was evaluated
};

/// Lists the runs of a folder (run.output), with the best epoch of each; skips other folders. The
/// most recently started run comes first. Blocks on files. Errors: invalid_input, if the folder
/// does not exist; io.
Result<std::vector<ListedRun>> list_runs(const std::filesystem::path& output);

/// Empty if the file cannot be read.
std::string read_text(const std::filesystem::path& path);

} // namespace troupe::metrics
