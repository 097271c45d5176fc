/// Common parts of losses, and of all implementations of linear_cross_entropy and its backward.
#pragma once

#include "core/fail.hpp"
#include "cpu/onednn/lowering.hpp"

#include <cmath>
#include <numeric>
#include <span>
#include <vector>

namespace troupe::cpu {

/// Returns the number of labels that are not ignored (negative). Errors: data, for a label that is
/// not a class.
inline Result<std::size_t> count_labels(std::span<const std::int32_t> labels, std::size_t classes) {
  std::size_t count = 0;
  for (const auto label : labels) {
    if (label >= 0 && static_cast<std::size_t>(label) >= classes)
      return fail(Errc::data, "a label is {}, but there are {} classes", label, classes);
    count += label >= 0 ? 1 : 0;
  }
  return count;
}

/// Divisor of sums over rows, of which `counted` count.
inline double mean_divisor(const LossAttributes& attributes, std::size_t counted) {
  return attributes.rows > 0 ? attributes.rows : static_cast<double>(counted);
}

/// A linear_cross_entropy or its backward: its operands, and the losses of its rows in the current
/// run. Threads may add losses of different rows concurrently.
class HeadLoss {
public:
  HeadLoss(const Graph& graph, const Node& node)
      : node_{node}, attributes_{std::get<LossAttributes>(node.attributes)},
        rows_{graph[node.inputs[0]].shape.size(0)}, width_{graph[node.inputs[0]].shape.size(1)},
        classes_{graph[node.inputs[1]].shape.size(0)} {}

  std::size_t rows() const { return rows_; }
  std::size_t width() const { return width_; }
  std::size_t classes() const { return classes_; }
  /// Whether backward also computes the loss.
  bool given_by_backward() const { return attributes_.loss; }
  double operations(int products) const {
    return 2.0 * products * static_cast<double>(rows_ * width_ * classes_);
  }

  const float* weight(const Frame& frame) const { return frame.data<float>(node_.inputs[1]); }
  std::span<const std::int32_t> labels(const Frame& frame) const {
    return {frame.data<std::int32_t>(node_.inputs[2]), rows_};
  }
  /// By row, the logarithms of the sums of exponentials: saved by forward for backward.
  float* totals(const Frame& frame) const { return frame.data<float>(node_.outputs[1]); }
  const float* totals_of_forward(const Frame& frame) const {
    return frame.data<float>(node_.inputs[3]);
  }
  /// Returns the number of rows with a label. Errors: data, for a label that is not a class.
  Result<std::size_t> counted(const Frame& frame) const {
    return count_labels(labels(frame), classes_);
  }
  float* dweight(const Frame& frame) const { return frame.data<float>(node_.outputs[1]); }

  /// Factor of a row's gradient if `counted` rows have labels.
  double share(const Frame& frame, std::size_t counted) const {
    const std::size_t input = given_by_backward() ? 3 : 4;
    const double scale =
        node_.inputs.size() > input ? double{*frame.data<float>(node_.inputs[input])} : 1.0;
    return counted > 0 ? scale / mean_divisor(attributes_, counted) : 0.0;
  }
  /// The gradient of a logit is (probability - spread()) * share(); for the label's logit, minus
  /// of_label(share()).
  float spread() const { return static_cast<float>(smoothing() / static_cast<double>(classes_)); }
  float of_label(double share) const { return static_cast<float>((1 - smoothing()) * share); }

  /// Forgets the losses of rows.
  void begin() { losses_.assign(rows_, 0.0); }
  /// Adds the loss of row n; returns the logarithm of the sum of its exponentials.
  float add(std::size_t n, const float* logits, std::int32_t label) {
    const auto [most, sum] = kernels().exponential_sum(logits, classes_);
    const double total = double{most} + std::log(double{sum});
    if (label >= 0)
      add(n, total, double{logits[label]}, smoothing() > 0 ? mean(logits) : 0);
    return static_cast<float>(total);
  }
  /// Adds the loss of row n, which has a label, from the logarithm of the sum of its exponentials,
  /// the label's logit and the mean of all logits (Szegedy et al. 2016, section 7).
  void add(std::size_t n, double total, double of_label, double mean) {
    losses_[n] = (1 - smoothing()) * (total - of_label) + smoothing() * (total - mean);
  }
  /// Writes the loss of all added rows, and the number of rows that count. Rows are added up in
  /// order, whichever thread computed their losses.
  void write(const Frame& frame, std::size_t counted) const {
    const std::size_t loss = given_by_backward() ? 2 : 0, count = given_by_backward() ? 3 : 2;
    *frame.data<float>(node_.outputs[loss]) =
        counted > 0 ? static_cast<float>(std::accumulate(losses_.begin(), losses_.end(), 0.0) /
                                         mean_divisor(attributes_, counted))
                    : 0.0f;
    *frame.data<float>(node_.outputs[count]) = static_cast<float>(counted);
  }

private:
  double smoothing() const { return double{attributes_.label_smoothing}; }
  double mean(const float* logits) const {
    double sum = 0;
    for (std::size_t c = 0; c < classes_; ++c)
      sum += double{logits[c]} / static_cast<double>(classes_);
    return sum;
  }

  Node node_;
  LossAttributes attributes_;
  std::size_t rows_, width_, classes_;
  std::vector<double> losses_; ///< by row
};

/// Whether a head in bf16 is computed by our kernels (kernels/logits_amx.cpp): its operands are
/// multiplied as bf16, on a processor with tiles.
bool has_head_tiles(const Lowering& lowering, const Node& node);
StepPtr head_by_tiles(const Lowering& lowering, const Node& node, bool backward);

} // namespace troupe::cpu
