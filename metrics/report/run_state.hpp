/// The state of a run, from run.json and summary.json in its folder, and of the runs of a folder.
#pragma once

#include "core/error.hpp"
#include "metrics/records/epoch.hpp"
#include "metrics/records/run.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::metrics {

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
