/// The history of a run's steps, as a bounded number of points.
#pragma once

#include "metrics/step_record.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace troupe::metrics {

/// Mean of the finite values.
class Mean {
public:
  void add(double value);
  void add(const Mean& other);
  /// nan if empty.
  double value() const { return sum_ / static_cast<double>(count_); }

private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

/// Consecutive steps merged into one point.
struct HistoryPoint {
  std::int64_t step = 0, epoch = 0; ///< of its first step
  Mean loss = {}, accuracy = {}, lr = {}, gradient_norm = {}, loss_scale = {};
  double loss_low = std::numeric_limits<double>::quiet_NaN(); ///< nan if no loss is finite
  double loss_high = loss_low;                                ///< likewise
  // Sums.
  double samples = 0, seconds = 0, data_wait_seconds = 0;
  double collective_seconds = 0, overlapped_seconds = 0, peak_seconds = 0;

  explicit HistoryPoint(const StepRecord& first) : step{first.step}, epoch{first.epoch} {
    add(first);
  }
  void add(const StepRecord& next);
  void add(const HistoryPoint& next);

  // nan if the divisor is 0.
  double samples_per_second() const { return samples / seconds; }
  double data_wait_ratio() const { return data_wait_seconds / seconds; }
  double overlap_ratio() const { return overlapped_seconds / collective_seconds; }
  double mfu() const { return peak_seconds / seconds; }
};

/// Merges each two neighbouring points when full, so that all points but the last represent the
/// same number of steps. A step costs amortized constant time.
class StepHistory {
public:
  static constexpr std::size_t most_points = 600;

  /// Returns the index of the first point that has changed.
  std::size_t add(const StepRecord& step);
  const std::vector<HistoryPoint>& points() const { return points_; }
  std::int64_t steps_per_point() const { return per_point_; }

private:
  void halve();

  std::vector<HistoryPoint> points_;
  std::int64_t per_point_ = 1;
  std::int64_t in_last_ = 0; ///< steps in the last point
};

} // namespace troupe::metrics
