/// Statistics of the global batch for batch norm (BatchNormAttributes::synchronized): each rank
/// computes two sums per channel, the sums are added over all ranks, and every rank continues with
/// the same totals (ADR 0011).
#pragma once

#include "core/device/device.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace troupe {

/// Enqueues values[i] = sum over the ranks of a job, in memory of the stream's device. Every rank
/// makes the same calls in the same order. A failure fails the stream. Empty if there is only one
/// rank.
using SumOverRanks = std::function<void(Stream& stream, double* values, std::size_t count)>;

/// The sums of one batch norm: all first sums, all second sums, and the number of rows, which may
/// differ between ranks. They are in double to avoid cancellation. Forward sums x and x²; backward
/// sums dy (after the ReLU's backward) and dy * (x - mean).
class RankSums {
public:
  explicit RankSums(std::size_t channels) : channels_{channels}, values_(2 * channels + 1) {}

  static std::size_t count(std::size_t channels) { return 2 * channels + 1; }
  std::span<double> values() { return values_; }

  std::size_t channels() const { return channels_; }
  double& first(std::size_t channel) { return values_[channel]; }
  double first(std::size_t channel) const { return values_[channel]; }
  double& second(std::size_t channel) { return values_[channels_ + channel]; }
  double second(std::size_t channel) const { return values_[channels_ + channel]; }
  double& rows() { return values_.back(); }
  double rows() const { return values_.back(); }

  /// The mean, from forward's sums.
  double mean(std::size_t channel) const { return first(channel) / rows(); }
  /// The biased variance, from forward's sums. Clamped at 0, because rounding can give a slightly
  /// negative value.
  double variance(std::size_t channel) const {
    const double mean_of_squares = second(channel) / rows();
    return std::max(mean_of_squares - mean(channel) * mean(channel), 0.0);
  }

private:
  std::size_t channels_;
  std::vector<double> values_;
};

} // namespace troupe
