#include "metrics/report/step_history.hpp"

#include <cmath>

namespace troupe::metrics {

namespace {

double finite_or_nan(double value) {
  return std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN();
}

} // namespace

void Mean::add(double value) {
  if (!std::isfinite(value))
    return;
  sum_ += value;
  ++count_;
}

void Mean::add(const Mean& other) {
  sum_ += other.sum_;
  count_ += other.count_;
}

void HistoryPoint::add(const StepRecord& next) {
  loss.add(next.loss);
  loss_low = std::fmin(loss_low, finite_or_nan(next.loss)); // fmin and fmax ignore a nan
  loss_high = std::fmax(loss_high, finite_or_nan(next.loss));
  if (next.accuracy)
    accuracy.add(*next.accuracy);
  lr.add(next.lr);
  if (next.gradient_norm)
    gradient_norm.add(*next.gradient_norm);
  if (next.loss_scale)
    loss_scale.add(*next.loss_scale);
  samples += static_cast<double>(next.samples);
  seconds += next.seconds;
  data_wait_seconds += next.data_wait_seconds;
  collective_seconds += next.collective_seconds;
  overlapped_seconds += next.overlap_ratio * next.collective_seconds;
  peak_seconds += next.peak_seconds();
}

void HistoryPoint::add(const HistoryPoint& next) {
  loss.add(next.loss);
  loss_low = std::fmin(loss_low, next.loss_low);
  loss_high = std::fmax(loss_high, next.loss_high);
  accuracy.add(next.accuracy);
  lr.add(next.lr);
  gradient_norm.add(next.gradient_norm);
  loss_scale.add(next.loss_scale);
  samples += next.samples;
  seconds += next.seconds;
  data_wait_seconds += next.data_wait_seconds;
  collective_seconds += next.collective_seconds;
  overlapped_seconds += next.overlapped_seconds;
  peak_seconds += next.peak_seconds;
}

std::size_t StepHistory::add(const StepRecord& step) {
  if (!points_.empty() && in_last_ < per_point_) {
    points_.back().add(step);
    ++in_last_;
    return points_.size() - 1;
  }
  const bool full = points_.size() == most_points;
  if (full)
    halve();
  points_.emplace_back(step);
  in_last_ = 1;
  return full ? 0 : points_.size() - 1;
}

static_assert(StepHistory::most_points % 2 == 0, "every point has to have a neighbour");

void StepHistory::halve() {
  for (std::size_t i = 0; i < points_.size() / 2; ++i) {
    auto both = points_[2 * i];
    both.add(points_[2 * i + 1]);
    points_[i] = both;
  }
  points_.erase(points_.begin() + std::ssize(points_) / 2, points_.end());
  per_point_ *= 2;
}

} // namespace troupe::metrics
