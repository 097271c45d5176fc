/// The state of a run, from run.json and summary.json in its folder.
#pragma once

#include "metrics/records/run.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace troupe::metrics {

struct RunState {
  RunInfo info;
  std::optional<RunSummary> summary; ///< only if the run has ended
  std::string status;                ///< completed, stopped, failed, running, interrupted
};

/// Empty if the folder is not a run's. Blocks on files.
std::optional<RunState> read_run_state(const std::filesystem::path& folder);

/// Empty if the file cannot be read.
std::string read_text(const std::filesystem::path& path);

} // namespace troupe::metrics
