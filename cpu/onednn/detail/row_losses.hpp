/// Losses of rows of logits.
#pragma once

#include "core/graph/op.hpp"
#include "cpu/kernels/kernels.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace troupe::cpu {

/// The sum of all rows' losses: they are added in row order, whichever thread computed them.
class RowLosses {
public:
  RowLosses(double label_smoothing, std::size_t classes)
      : smoothing_{label_smoothing}, classes_{classes} {}

  void begin(std::size_t rows) { losses_.assign(rows, 0.0); }
  /// Adds the loss of row n; returns the logarithm of the sum of its exponentials.
  float add(std::size_t n, const float* logits, std::int32_t label) {
    const auto [most, sum] = kernels().exponential_sum(logits, classes_);
    const double total = double{most} + std::log(double{sum});
    if (label >= 0)
      losses_[n] = loss(total, double{logits[label]}, smoothing_ > 0 ? mean(logits) : 0);
    return static_cast<float>(total);
  }
  /// Adds the loss of row n, which has a label, from the logarithm of the sum of its exponentials,
  /// the label's logit and the mean of all logits.
  void add(std::size_t n, double total, double of_label, double mean) {
    losses_[n] = loss(total, of_label, mean);
  }
  double sum() const { return std::accumulate(losses_.begin(), losses_.end(), 0.0); }

private:
  /// Szegedy et al. 2016, section 7.
  double loss(double total, double of_label, double mean) const {
    return (1 - smoothing_) * (total - of_label) + smoothing_ * (total - mean);
  }
  double mean(const float* logits) const {
    double sum = 0;
    for (std::size_t c = 0; c < classes_; ++c)
      sum += double{logits[c]} / static_cast<double>(classes_);
    return sum;
  }

  double smoothing_;
  std::size_t classes_;
  std::vector<double> losses_; ///< by row
};

} // namespace troupe::cpu
