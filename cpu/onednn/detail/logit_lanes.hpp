/// Sums over a head's classes, shared by threads.
#pragma once

#include "cpu/kernels/logits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace troupe::cpu {

/// Partial results of lanes, by lane and row.
class LogitLanes {
public:
  LogitLanes(std::size_t lanes, std::size_t rows)
      : rows_{in_blocks(rows)}, lanes_{lanes}, values_(4 * lanes * rows_) {}

  void begin() {
    std::fill(values_.begin(), values_.end(), 0.0f);
    for (std::size_t lane = 0; lane < lanes_; ++lane)
      std::fill_n(of(lane).most, rows_, -std::numeric_limits<float>::max());
  }
  LogitSums of(std::size_t lane) {
    float* const first = values_.data() + 4 * lane * rows_;
    return {first, first + rows_, first + 2 * rows_, first + 3 * rows_};
  }
  /// Returns the logarithm of the sum of all exponentials of a row.
  double total(std::size_t row) {
    float most = of(0).most[row];
    for (std::size_t lane = 1; lane < lanes_; ++lane)
      most = std::max(most, of(lane).most[row]);
    double sum = 0;
    for (std::size_t lane = 0; lane < lanes_; ++lane)
      sum +=
          double{of(lane).exponentials[row]} * std::exp(double{of(lane).most[row]} - double{most});
    return double{most} + std::log(sum);
  }
  double sum(std::size_t row, float* LogitSums::*values) {
    double sum = 0;
    for (std::size_t lane = 0; lane < lanes_; ++lane)
      sum += double{(of(lane).*values)[row]};
    return sum;
  }

private:
  static std::size_t in_blocks(std::size_t rows) {
    constexpr auto block = LogitKernels::row_block;
    return (rows + block - 1) / block * block;
  }

  std::size_t rows_, lanes_;
  std::vector<float> values_;
};

} // namespace troupe::cpu
