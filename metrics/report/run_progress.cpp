#include "metrics/report/run_progress.hpp"

#include "metrics/text_figures.hpp"

#include <algorithm>

namespace troupe::metrics {

void RunProgress::begin(const RunInfo& run) {
  operations_per_sample_ = operations_per_second(run, 1);
  first_step_ = run.first_step;
  total_steps_ = run.total_steps;
  steps_per_epoch_ = std::max<std::int64_t>(1, run.steps_per_epoch);
  now_.epochs = (total_steps_ + steps_per_epoch_ - 1) / steps_per_epoch_;
}

void RunProgress::add(const StepRecord& step) {
  now_.steps = step.step + 1;
  now_.epoch = step.epoch;
  now_.loss = step.loss;
  now_.accuracy = step.accuracy;
  now_.lr = step.lr;
  if (step.gradient_norm)
    now_.gradient_norm = step.gradient_norm;
  now_.loss_scale = step.loss_scale;
  now_.skipped_steps = step.skipped_steps.value_or(0);
  if (step.step < first_step_)
    return;
  now_.samples += step.samples;
  now_.seconds += step.seconds;
  now_.step_seconds += step.seconds;
  peak_seconds_ += step.peak_seconds();
  data_wait_ += step.data_wait_seconds;
  collective_ += step.collective_seconds;
  overlapped_ += step.overlap_ratio * step.collective_seconds;
  now_.data_wait_ratio = known_ratio(data_wait_, now_.step_seconds);
  now_.overlap_ratio = known_ratio(overlapped_, collective_);
  recent_.add(step);
  note_rate(recent_.samples_per_second());
  now_.mfu = recent_.mfu();
  now_.seconds_left = static_cast<double>(std::max<std::int64_t>(0, total_steps_ - now_.steps)) *
                      recent_.seconds_per_step();
}

void RunProgress::add(const EpochRecord& epoch) {
  if (epoch.test_loss)
    now_.test_loss = epoch.test_loss;
  if (epoch.test_accuracy)
    now_.test_accuracy = epoch.test_accuracy;
  if (epoch.step.value_or((epoch.epoch + 1) * steps_per_epoch_ - 1) < first_step_)
    return;
  now_.seconds += epoch.test_seconds.value_or(0);
  now_.evaluation_seconds += epoch.test_seconds.value_or(0);
}

void RunProgress::note_rate(std::optional<double> samples_per_second) {
  now_.samples_per_second = samples_per_second;
  now_.operations_per_second.reset();
  if (samples_per_second && operations_per_sample_)
    now_.operations_per_second = *samples_per_second * *operations_per_sample_;
}

void RunProgress::note_steps(std::int64_t steps) {
  now_.steps = steps;
  now_.epoch = std::max<std::int64_t>(0, steps - 1) / steps_per_epoch_;
}

void RunProgress::stop() {
  now_.seconds_left.reset();
  note_rate(known_ratio(static_cast<double>(now_.samples), now_.step_seconds));
  now_.mfu = known_ratio(peak_seconds_, now_.step_seconds);
}

void RunProgress::finish(const RunSummary& summary) {
  now_.steps = summary.steps;
  // Only the leader counts samples.
  now_.samples = std::max(now_.samples, summary.samples);
  now_.seconds = summary.seconds;
  now_.seconds_left.reset();
  now_.checkpoint_seconds = summary.checkpoint_seconds;
  note_rate(summary.samples_per_second);
  now_.mfu = summary.mfu;
  if (summary.steps > 0)
    now_.loss = summary.loss;
  if (summary.test_loss)
    now_.test_loss = summary.test_loss;
  if (summary.accuracy)
    now_.test_accuracy = summary.accuracy;
  if (summary.world_size > 1 && summary.samples > 0)
    now_.overlap_ratio = summary.overlap_ratio;
  now_.unreadable_samples = std::max(now_.unreadable_samples, summary.unreadable_samples);
  now_.parameters_sha256 = summary.parameters_sha256;
}

} // namespace troupe::metrics
