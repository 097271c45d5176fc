/// The history of a run's steps, as a bounded number of points.
#pragma once

#include "metrics/records/field.hpp"
#include "metrics/records/step.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

namespace troupe::metrics {

/// Mean of the finite values.
class Mean {
public:
  /// The mean of one value; empty if the value is.
  explicit Mean(const std::optional<double>& value);
  void add(const Mean& other);
  /// nan if empty.
  double value() const { return sum_ / static_cast<double>(count_); }

private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

/// Consecutive steps merged into one point.
struct HistoryPoint {
  std::int64_t step, epoch; ///< of its first step
  Mean loss, accuracy, lr, gradient_norm, loss_scale;
  double loss_low, loss_high; ///< nan if no loss is finite
  // Sums.
  double samples, seconds, data_wait_seconds;
  double collective_seconds, overlapped_seconds, peak_seconds;

  explicit HistoryPoint(const StepRecord& only);
  void add(const HistoryPoint& next);

  // nan if the divisor is 0.
  double samples_per_second() const { return samples / seconds; }
  double data_wait_ratio() const { return data_wait_seconds / seconds; }
  double overlap_ratio() const { return overlapped_seconds / collective_seconds; }
  double mfu() const { return peak_seconds / seconds; }
};

/// The curves of a run in its document.
template <>
inline constexpr auto fields_of<HistoryPoint> =
    std::tuple{field("step", &HistoryPoint::step),
               field("loss", &HistoryPoint::loss),
               field("loss_low", &HistoryPoint::loss_low),
               field("loss_high", &HistoryPoint::loss_high),
               field("accuracy", &HistoryPoint::accuracy),
               field("lr", &HistoryPoint::lr),
               field("samples_per_second", &HistoryPoint::samples_per_second),
               field("mfu", &HistoryPoint::mfu),
               field("gradient_norm", &HistoryPoint::gradient_norm),
               field("loss_scale", &HistoryPoint::loss_scale),
               field("data_wait_ratio", &HistoryPoint::data_wait_ratio),
               field("overlap_ratio", &HistoryPoint::overlap_ratio),
               field("epoch", &HistoryPoint::epoch)};

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
