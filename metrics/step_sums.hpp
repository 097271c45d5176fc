/// Totals over steps, and their recent means.
#pragma once

#include "metrics/records/step.hpp"

#include <cmath>
#include <cstdint>
#include <optional>

namespace troupe::metrics {

/// Returns part / whole; empty if `whole` is not above 0 or `part` is not finite.
inline std::optional<double> known_ratio(double part, double whole) {
  return whole > 0 && std::isfinite(part) ? std::optional{part / whole} : std::nullopt;
}

struct StepSums {
  double loss = 0; ///< sum of the steps' mean losses
  std::int64_t samples = 0, steps = 0;
  std::optional<std::int64_t> correct = {}; ///< correctly classified samples
  double seconds = 0, peak_seconds = 0;     ///< nan if the devices' peak is unknown

  void add(const StepRecord& step);
  /// Empty if there are no classes.
  std::optional<double> accuracy() const;
  /// Empty if unknown.
  std::optional<double> mfu() const { return known_ratio(peak_seconds, seconds); }
};

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
