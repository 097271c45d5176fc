/// The log of a run, for people.
#pragma once

#include "metrics/records/run.hpp"
#include "metrics/registry/registry.hpp"
#include "metrics/run_sink.hpp"
#include "training/job.hpp"

#include <spdlog/logger.h>

#include <memory>

namespace troupe::actors {

/// Logs recoveries and checkpoints, and the use of this node's workers.
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

private:
  std::shared_ptr<spdlog::logger> log_;
  metrics::RankRange ranks_;
};

} // namespace troupe::actors
