#include "actors/roles/detail/run_tally.hpp"

namespace troupe::actors {

RunTally::RunTally(const training::JobPlan& plan, const metrics::RunInfo& info, RunTotals totals,
                   const metrics::EarlierRun& before, Time made)
    : plan_{plan}, totals_{std::move(totals)}, epoch_{before.epoch},
      outcome_{metrics::RunSummary{info}, {}}, begin_{made}, last_commit_{made} {
  auto& summary = outcome_.summary;
  summary.checkpoints = totals_.summary.checkpoints;
  summary.checkpoint_failures = totals_.summary.checkpoint_failures;
  summary.checkpoint_seconds = totals_.summary.checkpoint_seconds;
  summary.checkpoint = totals_.summary.checkpoint;
  summary.loss = before.loss;
  summary.test_loss = before.test_loss;
  summary.accuracy = before.accuracy;
}

void RunTally::add(metrics::StepRecord& step, const CollectiveTime& collective, Time now) {
  auto& summary = outcome_.summary;
  step.epoch = plan_.epoch_of(step.step);
  step.seconds = seconds(now - std::exchange(last_commit_, now));
  step_seconds_ += step.seconds;
  if (step.peak_operations > 0 && step.seconds > 0)
    step.mfu = summary.operations_per_step / step.seconds / step.peak_operations;
  totals_.collective += collective.total;
  totals_.overlapped += collective.overlapped;
  epoch_.add(step);
  totals_.steps.add(step);
  summary.loss = step.loss;
  static_cast<metrics::LossScaling&>(summary) = step;
}

metrics::EpochRecord RunTally::end_epoch(metrics::EpochRecord epoch) {
  epoch.epoch = plan_.epoch_of(*epoch.step);
  epoch.train_loss = ratio(epoch_.loss, static_cast<double>(epoch_.steps));
  epoch.train_accuracy = epoch_.accuracy();
  epoch.seconds = epoch_.seconds;
  if (epoch.test_seconds) {
    epoch.seconds += *epoch.test_seconds;
    outcome_.summary.test_loss = epoch.test_loss;
    outcome_.summary.accuracy = epoch.test_accuracy;
  }
  epoch_ = {};
  return epoch;
}

void RunTally::add(const metrics::CheckpointRecord& checkpoint) {
  auto& summary = outcome_.summary;
  summary.checkpoint_seconds += checkpoint.pause_seconds;
  summary.parameters_sha256 = checkpoint.parameters_sha256;
  ++(checkpoint.failure ? summary.checkpoint_failures : summary.checkpoints);
  if (!checkpoint.failure)
    summary.checkpoint = checkpoint.path;
}

void RunTally::fail(Error error) {
  outcome_.summary.status = "failed";
  outcome_.summary.error = error.to_string();
  outcome_.error = std::move(error);
}

void RunTally::end(std::string_view status, std::int64_t steps, const JoinedRanks& ranks,
                   Time now) {
  auto& summary = outcome_.summary;
  summary.status = status;
  summary.steps = steps;
  summary.epochs = plan_.epoch_of(steps);
  summary.samples = totals_.steps.samples;
  summary.seconds = totals_.seconds + seconds(now - begin_);
  summary.samples_per_second = samples_per_second();
  summary.mfu = totals_.steps.mfu();
  summary.peak_operations = ranks.peak_operations();
  summary.overlap_ratio = ratio(totals_.overlapped, totals_.collective);
  summary.workers = ranks.summaries(step_seconds_);
}

const RunTotals& RunTally::leave(std::int64_t steps, Time now) {
  totals_.seconds += seconds(now - begin_);
  totals_.summary = outcome_.summary;
  totals_.committed = steps;
  totals_.run = {summary().loss, summary().test_loss, summary().accuracy, epoch_};
  return totals_;
}

} // namespace troupe::actors
