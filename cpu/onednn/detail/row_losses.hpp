/// Losses of rows of logits.
#pragma once

#include "../../kernels/kernels.hpp"
#include "troupe/core/graph/op.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace troupe::cpu {

/// What comes of the losses of all rows: they are added in order, whoever has made them.
class RowLosses {
public:
  RowLosses(const LossAttributes& attributes, std::size_t classes)
      : smoothing_{double{attributes.label_smoothing}}, classes_{classes} {}

  void begin(std::size_t rows) { losses_.assign(rows, 0.0); }
  /// Of row n; gives the logarithm of the sum of its exponentials.
  float add(std::size_t n, const float* logits, std::int32_t label) {
    const auto [most, sum] = kernels().exponential_sum(logits, classes_);
    const double total = double{most} + std::log(double{sum});
    losses_[n] = loss(logits, label, total);
    return static_cast<float>(total);
  }
  double sum() const { return std::accumulate(losses_.begin(), losses_.end(), 0.0); }

private:
  /// Szegedy et al. 2016, section 7.
  double loss(const float* logits, std::int32_t label, double total) const {
    if (label < 0)
      return 0;
    double mean = 0;
    for (std::size_t c = 0; smoothing_ > 0 && c < classes_; ++c)
      mean += double{logits[c]} / static_cast<double>(classes_);
    return (1 - smoothing_) * (total - double{logits[label]}) + smoothing_ * (total - mean);
  }

  double smoothing_;
  std::size_t classes_;
  std::vector<double> losses_; ///< by row
};

} // namespace troupe::cpu
