#include "metrics/report/step_history.hpp"

#include <cmath>
#include <limits>

namespace troupe::metrics {

namespace {

double finite_or_nan(double value) {
  return std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN();
}

} // namespace

Mean::Mean(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value))
    return;
  sum_ = *value;
  count_ = 1;
}

void Mean::add(const Mean& other) {
  sum_ += other.sum_;
  count_ += other.count_;
}

HistoryPoint::HistoryPoint(const StepRecord& only)
    : step{only.step}, epoch{only.epoch}, loss{only.loss}, accuracy{only.accuracy}, lr{only.lr},
      gradient_norm{only.gradient_norm}, loss_scale{only.loss_scale}, loss_low{finite_or_nan(
                                                                          only.loss)},
      loss_high{loss_low}, samples{static_cast<double>(only.samples)}, seconds{only.seconds},
      data_wait_seconds{only.data_wait_seconds}, collective_seconds{only.collective_seconds},
      overlapped_seconds{only.overlap_ratio * only.collective_seconds}, peak_seconds{
                                                                            only.peak_seconds()} {}

void HistoryPoint::add(const HistoryPoint& next) {
  loss.add(next.loss);
  loss_low = std::fmin(loss_low, next.loss_low); // fmin and fmax ignore a nan
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
    points_.back().add(HistoryPoint{step});
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
