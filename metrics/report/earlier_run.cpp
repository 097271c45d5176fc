#include "metrics/report/earlier_run.hpp"

#include <algorithm>

namespace troupe::metrics {

namespace {

/// The number of epochs whose lines a resumed run keeps: those that are not repeated. A run that
/// has reached its end also keeps the epoch cut short by max_steps.
std::int64_t epochs_before(const RunInfo& run) {
  if (run.steps_per_epoch <= 0)
    return 0;
  const auto whole = run.first_step / run.steps_per_epoch;
  const bool cut_short = run.first_step % run.steps_per_epoch != 0;
  return run.first_step >= run.total_steps && cut_short ? whole + 1 : whole;
}

} // namespace

Recollection::Recollection(const RunInfo& run)
    : first_step_{run.first_step}, steps_per_epoch_{std::max<std::int64_t>(1, run.steps_per_epoch)},
      epochs_{epochs_before(run)} {
  history_.progress.begin(run);
}

bool Recollection::add(const StepRecord& step) {
  if (step.step <= last_step_ || step.step >= first_step_)
    return false;
  last_step_ = step.step;
  ++steps_;
  history_.add(step);
  run_.loss = step.loss;
  if (step.step / steps_per_epoch_ == (first_step_ - 1) / steps_per_epoch_)
    run_.epoch.add(step);
  return true;
}

bool Recollection::add(const EpochRecord& epoch) {
  if (epoch.epoch <= last_epoch_ || epoch.epoch >= epochs_)
    return false;
  last_epoch_ = epoch.epoch;
  history_.add(epoch);
  if ((epoch.epoch + 1) * steps_per_epoch_ == first_step_)
    run_.epoch = {}; // the epoch is complete
  if (epoch.test_loss)
    run_.test_loss = epoch.test_loss;
  if (epoch.test_accuracy)
    run_.accuracy = epoch.test_accuracy;
  return true;
}

bool Recollection::add(const GeneratedRecord& sample) {
  if (sample.step <= last_sample_ || sample.step > first_step_)
    return false;
  last_sample_ = sample.step;
  history_.add(sample);
  return true;
}

} // namespace troupe::metrics
