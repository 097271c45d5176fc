/// Recent speed and loss of a run.
#pragma once

#include "metrics/known_ratio.hpp"
#include "metrics/records/step.hpp"

#include <optional>

namespace troupe::metrics {

/// Exponentially weighted means of steps, with a time constant of ten seconds of training.
class RecentSteps {
public:
  void add(const StepRecord& step);

  double loss() const { return loss_ / samples_; }
  /// Empty if there are no classes.
  std::optional<double> accuracy() const {
    return classifies_ ? std::optional{accuracy_ / samples_} : std::nullopt;
  }
  double samples_per_second() const { return samples_ / seconds_; }
  double seconds_per_step() const { return seconds_ / steps_; }
  /// Empty if unknown.
  std::optional<double> mfu() const { return known_ratio(peak_seconds_, seconds_); }

private:
  // Weighted sums.
  double steps_ = 0, samples_ = 0, seconds_ = 0, peak_seconds_ = 0, loss_ = 0, accuracy_ = 0;
  bool classifies_ = false;
};

} // namespace troupe::metrics
