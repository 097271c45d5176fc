/// The log of a run, for people.
#pragma once

#include "data/file_notes.hpp"
#include "metrics/records/run.hpp"
#include "metrics/registry/registry.hpp"
#include "metrics/run_sink.hpp"
#include "training/job.hpp"

#include <spdlog/logger.h>

#include <memory>
#include <vector>

namespace troupe::actors {

/// Logs recoveries and checkpoints, the use of this node's workers, and files of the data sets that
/// could not be read.
class RunLog final : public metrics::RunSink {
public:
  explicit RunLog(std::shared_ptr<spdlog::logger> log) : log_{std::move(log)} {}

  /// Begins a generation in which this node has these ranks.
  void begin(const metrics::RankRange& ranks) { ranks_ = ranks; }
  /// Logs how the job computes.
  void introduce(const training::Job& job, const metrics::RunInfo& info);

  using RunSink::record;
  void record(const metrics::RecoveryRecord& recovery) override;
  void record(const metrics::CheckpointRecord& checkpoint) override;
  void record(const metrics::WorkerSummary& worker) override;

  /// Logs which files a data set leaves out, and watches the job's data from now on.
  void watch(const training::Job& job);
  /// Logs the files that were skipped since the last call.
  void log_skipped();
  /// Logs how many were skipped in all.
  void log_all_skipped() const;
  data::FileNotes::Counts skipped() const;

private:
  std::shared_ptr<spdlog::logger> log_;
  metrics::RankRange ranks_;
  std::vector<std::shared_ptr<data::FileNotes>> unreadable_, damaged_; ///< by split
};

} // namespace troupe::actors
