/// OUTPUT/NAME/: what is left of a run for people and programs (docs/runs.md).
#pragma once

#include "detail/json_lines.hpp"
#include "run_history.hpp"

#include "troupe/core/error.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace troupe::metrics {

/// Blocks on files; one process at a time.
class RunFolder {
public:
  /// Makes the folder, writes config.yaml, removes the end of an earlier run (summary, report), and
  /// cuts off what came after run.first_step: it is trained again.
  static Result<RunFolder> open(const std::filesystem::path& output, const RunInfo& run,
                                std::string_view config_yaml);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path tensorboard() const { return path_ / "tensorboard"; }
  std::filesystem::path summary() const { return path_ / "summary.json"; }
  std::filesystem::path report() const { return path_ / "report.html"; }

  /// Steps before the first one of this process that events.jsonl has lost.
  std::int64_t missing_steps() const { return steps_.missing(); }

  Status append(const StepRecord& step);
  Status append(const EpochRecord& epoch);

  /// Writes summary.json, then report.html; each whole or not at all.
  Status finish(const RunSummary& summary);

private:
  RunFolder(std::filesystem::path path, JsonLines steps, JsonLines epochs, std::string config);

  std::filesystem::path path_;
  JsonLines steps_, epochs_;
  std::string config_;
};

} // namespace troupe::metrics
