/// OUTPUT/NAME/: the files of a run, for people and programs (docs/runs.md).
#pragma once

#include "core/error.hpp"
#include "metrics/report/detail/json_lines.hpp"
#include "metrics/report/earlier_run.hpp"
#include "metrics/report/run_json.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace troupe::metrics {

/// Names of its files.
namespace run_files {
inline constexpr const char* config = "config.yaml";
inline constexpr const char* steps = "events.jsonl";
inline constexpr const char* epochs = "epochs.jsonl";
inline constexpr const char* recoveries = "recoveries.jsonl";
inline constexpr const char* samples = "samples.jsonl";
inline constexpr const char* info = "run.json";
inline constexpr const char* summary = "summary.json";
inline constexpr const char* report = "report.html";
inline constexpr const char* members = "members.json"; ///< written by daemons
inline constexpr const char* checkpoints = "checkpoints";
} // namespace run_files

/// How a process writes to a run's folder.
struct RunWriter {
  std::filesystem::path staging = {}; ///< core/staging.hpp; empty: beside the files
  bool takes_over = false;            ///< from another process, which may still write
};

/// Its line files.
struct RunLines {
  JsonLines steps, epochs, recoveries, samples;

  JsonLines& of(const StepRecord&) { return steps; }
  JsonLines& of(const EpochRecord&) { return epochs; }
  JsonLines& of(const RecoveryRecord&) { return recoveries; }
  JsonLines& of(const GeneratedRecord&) { return samples; }
};

/// Blocks on files. Only one process may write to a folder.
class RunFolder {
public:
  /// Creates the folder and writes config.yaml and run.json. Removes the end of an earlier run
  /// (summary, report), temporary files and, without a staging directory, members.json. Cuts off
  /// lines after run.first_step, which is trained again. With a staging directory, restores lines
  /// before the first step that this writer has cut off earlier: joining nodes have brought a later
  /// state. Reads the earlier lines once, here.
  static Result<RunFolder> open(const std::filesystem::path& output, const RunInfo& run,
                                std::string_view config_yaml, const RunWriter& writer = {});

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / run_files::checkpoints; }
  std::filesystem::path tensorboard() const { return path_ / "tensorboard"; }
  std::filesystem::path summary() const { return path_ / run_files::summary; }
  std::filesystem::path report() const { return path_ / run_files::report; }

  /// Records of the steps before this process's first one.
  const Recollection& before() const { return before_; }

  /// Appends a line to the record's file.
  template <class Record>
  Status append(const Record& record) {
    return lines_.of(record).append(to_json(record));
  }

  /// Writes queued lines. Error: that of the first file that cannot be written.
  Status settle();

  // Written atomically.
  Status write(const RunInfo& run) const;
  Status write(const RunSummary& summary) const;
  /// Writes the page of a document (run_document.hpp).
  Status write_report(std::string_view document) const;

private:
  RunFolder(std::filesystem::path path, std::filesystem::path staging, RunLines lines,
            Recollection before)
      : path_(std::move(path)), staging_(std::move(staging)), lines_(std::move(lines)),
        before_(std::move(before)) {}

  std::filesystem::path path_, staging_;
  RunLines lines_;
  Recollection before_;
};

/// Error: invalid_input, if another process writes a run to this folder.
Status check_unwritten(const std::filesystem::path& run);

/// Error: invalid_input, if the folder has entries but none that marks it as a run's: a run would
/// write among other files. Ignores hidden entries.
Status check_no_other_files(const std::filesystem::path& run);

} // namespace troupe::metrics
