/// What a progress bar says, as plain text.
#pragma once

#include "../../step_record.hpp"

#include <optional>
#include <string>

namespace troupe::metrics {

/// Recent steps; what is older than some ten seconds of training hardly counts.
class RecentSteps {
public:
  void add(const StepRecord& step);

  double loss() const { return loss_ / samples_; }
  /// Empty where there are no classes.
  std::optional<double> accuracy() const {
    return classifies_ ? std::optional{accuracy_ / samples_} : std::nullopt;
  }
  double samples_per_second() const { return samples_ / seconds_; }
  double seconds_per_step() const { return seconds_ / steps_; }

private:
  double steps_ = 0, samples_ = 0, seconds_ = 0, loss_ = 0, accuracy_ = 0; ///< weighted sums
  bool classifies_ = false;
};

/// Where a run stands after a step.
struct Progress {
  std::int64_t epoch = 0, epochs = 0; ///< counted from 1
  std::int64_t step = 0, steps = 0;   ///< within the epoch, counted from 1
  std::int64_t steps_left = 0;        ///< of the run
  RecentSteps recent;
  std::string samples = "images"; ///< what they are, for speed
};

Progress progress_after(const RunInfo& run, const StepRecord& step, const RecentSteps& recent);

/// "epoch 3/10 [=====>    ] 120/390  loss 1.2345  accuracy 45.2%  870 images/s  12:34 left". Where
/// the width (in columns) is less, accuracy goes first, then the rate, the time, the bar, the loss
/// and the epoch; below the steps' own width nothing is left. Always shorter than the width.
std::string progress_bar(const Progress& progress, int width);

/// The same, without a bar.
std::string progress_line(const Progress& progress);

} // namespace troupe::metrics
