/// The totals of a run, over the generations of this process.
#pragma once

#include "actors/roles/detail/step_summary.hpp"
#include "core/config/checkpoint.hpp"
#include "metrics/records/run.hpp"
#include "metrics/report/earlier_run.hpp"
#include "metrics/step_sums.hpp"
#include "training/test_results.hpp"

#include <chrono>
#include <optional>
#include <utility>

namespace troupe::actors {

/// Tracks the best evaluation of a run (checkpoint.best).
struct BestSoFar {
  BestMetric metric = BestMetric::none;
  std::optional<double> value = {}; ///< empty: there is none yet

  /// Returns whether these results are better than all before. If so, the next ones are compared
  /// with them.
  bool beat(const training::TestResults& results) {
    const bool higher = metric == BestMetric::accuracy;
    const auto& now = higher ? results.accuracy : results.loss;
    if (metric == BestMetric::none || !now)
      return false;
    if (value && !(higher ? *now > *value : *now < *value))
      return false;
    value = now;
    return true;
  }
};

/// The totals of a run in this process. Each COORDINATOR adds to them and passes them to the next.
struct RunTotals {
  metrics::StepSums steps = {};
  std::int64_t committed = 0;            ///< steps of the whole run
  double seconds = 0;                    ///< since the first step, without this generation
  double collective = 0, overlapped = 0; ///< seconds
  metrics::RunSummary summary = {};      ///< with the counts of its checkpoints
  BestSoFar best = {};
  std::int64_t sampled = -1;    ///< number of steps after which the last text sample was written
  metrics::EarlierRun run = {}; ///< the run so far, for the next generation

  /// Continues with the next generation. The summary keeps its counts of checkpoints.
  void begin(const metrics::RunInfo& info, const metrics::EarlierRun& before) {
    const auto earlier = std::exchange(summary, {info});
    summary.checkpoints = earlier.checkpoints;
    summary.checkpoint_failures = earlier.checkpoint_failures;
    summary.checkpoint_seconds = earlier.checkpoint_seconds;
    summary.checkpoint = earlier.checkpoint;
    summary.loss = before.loss;
    summary.test_loss = before.test_loss;
    summary.accuracy = before.accuracy;
    run = before;
  }
  void add(const metrics::StepRecord& step, const CollectiveTime& time) {
    collective += time.total;
    overlapped += time.overlapped;
    run.epoch.add(step);
    steps.add(step);
    summary.loss = step.loss;
    static_cast<metrics::LossScaling&>(summary) = step;
  }
  /// Returns the record of an epoch with its evaluation, if there was one, and the epoch's steps.
  metrics::EpochRecord end_epoch(metrics::EpochRecord row) {
    const auto epoch = std::exchange(run.epoch, {});
    row.time = std::chrono::system_clock::now();
    row.train_loss = ratio(epoch.loss, static_cast<double>(epoch.steps));
    row.train_accuracy = epoch.accuracy();
    row.seconds = epoch.seconds + row.test_seconds.value_or(0);
    if (row.test_seconds) {
      summary.test_loss = row.test_loss;
      summary.accuracy = row.test_accuracy;
    }
    return row;
  }
  void add(const metrics::CheckpointRecord& checkpoint) {
    summary.checkpoint_seconds += checkpoint.pause_seconds;
    summary.parameters_sha256 = checkpoint.parameters_sha256;
    ++(checkpoint.failure ? summary.checkpoint_failures : summary.checkpoints);
    if (!checkpoint.failure)
      summary.checkpoint = checkpoint.path;
  }
  double samples_per_second() const {
    return ratio(static_cast<double>(steps.samples), steps.seconds);
  }
};

} // namespace troupe::actors
