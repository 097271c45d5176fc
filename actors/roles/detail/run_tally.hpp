/// The sums of a run over its steps, and its summary. Has no actors or clocks.
#pragma once

#include "actors/roles/detail/joined_ranks.hpp"
#include "actors/roles/detail/step_summary.hpp"
#include "core/config/checkpoint.hpp"
#include "metrics/records/checkpoint.hpp"
#include "metrics/records/epoch.hpp"
#include "metrics/report/earlier_run.hpp"
#include "training/job_plan.hpp"
#include "training/test_results.hpp"

#include <chrono>
#include <string_view>
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

/// The totals of a run over the earlier generations of this process. Each COORDINATOR passes them
/// to the next.
struct RunTotals {
  metrics::StepSums steps = {};
  std::int64_t committed = 0;            ///< steps of the whole run
  double seconds = 0;                    ///< since the first step
  double collective = 0, overlapped = 0; ///< seconds
  metrics::RunSummary summary = {};      ///< with the counts of its checkpoints
  BestSoFar best = {};
  std::int64_t sampled = -1;    ///< number of steps after which the last text sample was written
  metrics::EarlierRun run = {}; ///< the run so far, for the next generation
};

class RunTally {
public:
  using Time = std::chrono::steady_clock::time_point;
  /// `before`: the run before this generation. `made`: when COORDINATOR was.
  RunTally(const training::JobPlan& plan, const metrics::RunInfo& info, RunTotals totals,
           const metrics::EarlierRun& before, Time made);

  const metrics::RunSummary& summary() const { return outcome_.summary; }
  double samples_per_second() const {
    return ratio(static_cast<double>(totals_.steps.samples), totals_.steps.seconds);
  }
  /// Total over this generation's steps.
  double step_seconds() const { return step_seconds_; }
  /// Whether the epoch has steps.
  bool is_in_epoch() const { return epoch_.steps > 0; }
  Time last_commit() const { return last_commit_; }

  /// The generation begins.
  void begin(Time now) { begin_ = now; }
  /// Training continues: the pause is no part of the next step.
  void resume(Time now) { last_commit_ = now; }
  /// Adds a committed step, and fills in its epoch, its time, and what follows from it.
  void add(metrics::StepRecord& step, const CollectiveTime& collective, Time now);
  /// Returns whether these results are the best of the run.
  bool beat(const training::TestResults& results) { return totals_.best.beat(results); }
  /// Completes the record of an epoch, whose last step and evaluation, if there was one, are known.
  metrics::EpochRecord end_epoch(metrics::EpochRecord epoch);
  void add(const metrics::CheckpointRecord& checkpoint);
  void add_digest(std::string digest) { outcome_.summary.parameters_sha256 = std::move(digest); }
  void sampled(std::int64_t steps) { totals_.sampled = steps; }

  void fail(Error error);
  /// Completes the summary of a job that ends after so many steps.
  void end(std::string_view status, std::int64_t steps, const JoinedRanks& ranks, Time now);
  const RunOutcome& outcome() const { return outcome_; }
  /// Returns the totals for the next generation.
  const RunTotals& leave(std::int64_t steps, Time now);

private:
  const training::JobPlan& plan_;
  RunTotals totals_; ///< with this generation's
  metrics::StepSums epoch_;
  RunOutcome outcome_;
  double step_seconds_ = 0;
  Time begin_, last_commit_;
};

} // namespace troupe::actors
