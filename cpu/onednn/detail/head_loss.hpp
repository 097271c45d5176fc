/// Common part of all implementations of linear_cross_entropy and its backward.
#pragma once

#include "cpu/onednn/detail/labels.hpp"
#include "cpu/onednn/detail/row_losses.hpp"
#include "cpu/onednn/lowering.hpp"

#include <span>

namespace troupe::cpu {

class HeadLoss {
public:
  HeadLoss(const Graph& graph, const Node& node)
      : node_{node}, attributes_{std::get<LossAttributes>(node.attributes)},
        rows_{size(graph[node.inputs[0]].shape[0])}, width_{size(graph[node.inputs[0]].shape[1])},
        classes_{size(graph[node.inputs[1]].shape[0])} {}

  std::size_t rows() const { return rows_; }
  std::size_t width() const { return width_; }
  std::size_t classes() const { return classes_; }
  double smoothing() const { return double{attributes_.label_smoothing}; }
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
  float* dweight(const Frame& frame) const { return frame.data<float>(node_.outputs[1]); }

  /// Factor of a row's gradient if `counted` rows have labels.
  double share(const Frame& frame, std::size_t counted) const {
    const std::size_t input = given_by_backward() ? 3 : 4;
    const double scale =
        node_.inputs.size() > input ? double{*frame.data<float>(node_.inputs[input])} : 1.0;
    return counted > 0 ? scale / mean_rows(counted) : 0.0;
  }
  /// The gradient of a logit is (probability - spread()) * share(); for the label's logit, minus
  /// of_label(share()).
  float spread() const { return static_cast<float>(smoothing() / static_cast<double>(classes_)); }
  float of_label(double share) const { return static_cast<float>((1 - smoothing()) * share); }
  /// Writes the loss of all added rows, and the number of rows that count.
  void write(const Frame& frame, const RowLosses& losses, std::size_t counted) const {
    const std::size_t loss = given_by_backward() ? 2 : 0, count = given_by_backward() ? 3 : 2;
    *frame.data<float>(node_.outputs[loss]) =
        counted > 0 ? static_cast<float>(losses.sum() / mean_rows(counted)) : 0.0f;
    *frame.data<float>(node_.outputs[count]) = static_cast<float>(counted);
  }

private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }
  double mean_rows(std::size_t counted) const {
    return attributes_.rows > 0 ? attributes_.rows : static_cast<double>(counted);
  }

  Node node_;
  LossAttributes attributes_;
  std::size_t rows_, width_, classes_;
};

} // namespace troupe::cpu
