/// Lists the runs of a folder (run.output).
#pragma once

#include "core/error.hpp"
#include "metrics/records/epoch.hpp"
#include "metrics/records/run.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::metrics {

struct ListedRun {
  std::filesystem::path folder;
  RunInfo info;
  std::string status;              ///< completed, stopped, failed, running, interrupted
  std::optional<EpochRecord> best; ///< empty: no epoch was evaluated
};

/// Reads run.json, summary.json and epochs.jsonl of each run; skips other folders. The most
/// recently started run comes first. Blocks on files. Errors: invalid_input, if the folder does not
/// exist; io.
Result<std::vector<ListedRun>> list_runs(const std::filesystem::path& output);

} // namespace troupe::metrics
