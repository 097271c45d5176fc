/// Progress of a run, as numbers.
#pragma once

#include "metrics/records/epoch.hpp"
#include "metrics/records/field.hpp"
#include "metrics/records/run.hpp"
#include "metrics/records/step.hpp"
#include "metrics/step_sums.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace troupe::metrics {

/// Samples, seconds and ratios count from the last start of the run. Unknown values are empty.
struct Progress {
  std::int64_t steps = 0; ///< committed in the whole run
  std::int64_t epoch = 0; ///< of the last step
  std::int64_t epochs = 0;
  std::int64_t samples = 0;
  /// In steps, evaluations and pauses for checkpoints. After the end, the time from start to end.
  double seconds = 0;
  std::optional<double> seconds_left = {};
  std::optional<double> samples_per_second = {};    ///< current; after the end, mean over all steps
  std::optional<double> mfu = {};                   ///< likewise
  std::optional<double> operations_per_second = {}; ///< likewise
  // Parts of the run's seconds: in steps, in evaluations, and paused for checkpoints.
  double step_seconds = 0, evaluation_seconds = 0, checkpoint_seconds = 0;
  std::optional<double> loss = {}, accuracy = {};
  std::optional<double> test_loss = {}, test_accuracy = {};
  std::optional<double> lr = {}, gradient_norm = {}, loss_scale = {};
  std::int64_t skipped_steps = 0;
  std::optional<double> overlap_ratio = {}, data_wait_ratio = {};
  std::int64_t unreadable_samples = 0;
  std::string parameters_sha256 = {}; ///< empty until the run has ended
};

/// `progress` in the document of a run.
template <>
inline constexpr auto fields_of<Progress> = std::tuple{
    field("steps", &Progress::steps),
    field("epoch", &Progress::epoch),
    field("epochs", &Progress::epochs),
    field("samples", &Progress::samples),
    field("seconds", &Progress::seconds),
    field("seconds_left", &Progress::seconds_left),
    field("samples_per_second", &Progress::samples_per_second),
    field("mfu", &Progress::mfu),
    field("operations_per_second", &Progress::operations_per_second),
    field("step_seconds", &Progress::step_seconds),
    field("evaluation_seconds", &Progress::evaluation_seconds),
    field("checkpoint_seconds", &Progress::checkpoint_seconds),
    field("loss", &Progress::loss),
    field("accuracy", &Progress::accuracy),
    field("test_loss", &Progress::test_loss),
    field("test_accuracy", &Progress::test_accuracy),
    field("lr", &Progress::lr),
    field("gradient_norm", &Progress::gradient_norm),
    field("loss_scale", &Progress::loss_scale),
    field("skipped_steps", &Progress::skipped_steps),
    field("overlap_ratio", &Progress::overlap_ratio),
    field("data_wait_ratio", &Progress::data_wait_ratio),
    field("unreadable_samples", &Progress::unreadable_samples),
    field("parameters_sha256", &Progress::parameters_sha256, {.if_empty = IfEmpty::null})};

class RunProgress {
public:
  /// Steps before run.first_step count as earlier steps of a resumed run.
  void begin(const RunInfo& run);
  void add(const StepRecord& step);
  void add(const EpochRecord& epoch);
  /// Records progress when only the number of steps is known.
  void note_steps(std::int64_t steps);
  /// Records that a checkpoint paused training for this long.
  void note_pause(double seconds) {
    now_.seconds += seconds;
    now_.checkpoint_seconds += seconds;
  }
  void note_unreadable(std::int64_t samples) { now_.unreadable_samples = samples; }
  /// Ends the progress of a run without a summary: no further step will come.
  void stop();
  void finish(const RunSummary& summary);

  const Progress& now() const { return now_; }

private:
  void note_rate(std::optional<double> samples_per_second);

  std::int64_t first_step_ = 0, total_steps_ = 0, steps_per_epoch_ = 1;
  double peak_seconds_ = 0, data_wait_ = 0, collective_ = 0, overlapped_ = 0;
  std::optional<double> operations_per_sample_ = {};
  RecentSteps recent_;
  Progress now_;
};

} // namespace troupe::metrics
