// Losses and counts. They are small: one thread works in double, and sums have a fixed order.
#include "cpu/onednn/detail/head_loss.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::cpu {

namespace {

/// A loss, and its tensors in a run.
struct Loss {
  LossAttributes attributes;
  std::size_t rows, classes;
  bool regression;

  Loss(const Graph& graph, const Node& node)
      : rows{graph[node.inputs[0]].shape.size(0)}, classes{graph[node.inputs[0]].shape.size(1)},
        regression{graph[node.inputs[1]].dtype == DType::f32} {
    if (const auto* const given = std::get_if<LossAttributes>(&node.attributes))
      attributes = *given;
  }

  /// Values of a row.
  const float* values(const NodeFrame& frame, std::size_t n) const {
    return frame.in<float>(0) + n * classes;
  }
  const float* targets(const NodeFrame& frame, std::size_t n) const {
    return frame.in<float>(1) + n * classes;
  }
  const std::int32_t* labels(const NodeFrame& frame) const { return frame.in<std::int32_t>(1); }
  /// Returns the factor of gradients: the loss scale, or 1 without one.
  double scale(const NodeFrame& frame) const {
    const auto* const given = frame.in_or_null<float>(2);
    return given ? double{*given} : 1.0;
  }
  /// Returns the number of rows with a label.
  Result<std::size_t> counted(const NodeFrame& frame) const {
    return count_labels({labels(frame), rows}, classes);
  }
};

/// Mean over labelled rows of -sum_c target_c log p_c, target as in Szegedy et al. 2016, section 7.
Status cross_entropy(const Loss& l, const NodeFrame& frame) {
  TROUPE_TRY(const auto count, l.counted(frame));
  const double smoothing = double{l.attributes.label_smoothing};
  auto* const probabilities = frame.out<float>(1);
  double loss = 0;
  for (std::size_t n = 0; n < l.rows; ++n) {
    const float* const row = l.values(frame, n);
    const double most = double{*std::max_element(row, row + l.classes)};
    double sum = 0, total = 0;
    for (std::size_t c = 0; c < l.classes; ++c) {
      sum += std::exp(double{row[c]} - most);
      total += double{row[c]};
    }
    for (std::size_t c = 0; c < l.classes; ++c)
      probabilities[n * l.classes + c] = static_cast<float>(std::exp(double{row[c]} - most) / sum);
    const auto label = l.labels(frame)[n];
    if (label < 0)
      continue;
    const double log_sum = most + std::log(sum);
    loss += (1 - smoothing) * (log_sum - double{row[label]}) +
            smoothing * (log_sum - total / static_cast<double>(l.classes));
  }
  *frame.out<float>(0) =
      count > 0 ? static_cast<float>(loss / mean_divisor(l.attributes, count)) : 0.0f;
  *frame.out<float>(2) = static_cast<float>(count);
  return {};
}

Status cross_entropy_backward(const Loss& l, const NodeFrame& frame) {
  TROUPE_TRY(const auto count, l.counted(frame));
  const double smoothing = double{l.attributes.label_smoothing};
  const double share = count > 0 ? l.scale(frame) / mean_divisor(l.attributes, count) : 0.0;
  const double spread = smoothing / static_cast<double>(l.classes);
  for (std::size_t n = 0; n < l.rows; ++n) {
    const auto label = l.labels(frame)[n];
    const float* const p = l.values(frame, n);
    float* const d = frame.out<float>(0) + n * l.classes;
    for (std::size_t c = 0; c < l.classes; ++c) {
      const double target = spread + (static_cast<std::int32_t>(c) == label ? 1 - smoothing : 0.0);
      d[c] = label < 0 ? 0.0f : static_cast<float>((double{p[c]} - target) * share);
    }
  }
  return {};
}

/// Whether squared errors ignore a row: one whose target begins with a NaN, or without a label.
bool ignores(const Loss& l, const NodeFrame& frame, std::size_t n) {
  return l.regression ? std::isnan(*l.targets(frame, n)) : l.labels(frame)[n] < 0;
}

/// Returns the number of rows whose squared errors count; the mean is over their elements.
Result<std::size_t> rows_of_errors(const Loss& l, const NodeFrame& frame) {
  if (!l.regression)
    return l.counted(frame);
  std::size_t count = 0;
  for (std::size_t n = 0; n < l.rows; ++n)
    count += ignores(l, frame, n) ? 0 : 1;
  return count;
}

/// Divisor of the sum over elements.
double mean_elements(const Loss& l, std::size_t rows) {
  return mean_divisor(l.attributes, rows) * static_cast<double>(l.classes);
}

double difference(const Loss& l, const NodeFrame& frame, std::size_t n, std::size_t c) {
  if (ignores(l, frame, n))
    return 0.0;
  const double value = double{l.values(frame, n)[c]};
  if (l.regression)
    return value - double{l.targets(frame, n)[c]};
  return value - (static_cast<std::int32_t>(c) == l.labels(frame)[n] ? 1.0 : 0.0);
}

Status squared_error(const Loss& l, const NodeFrame& frame) {
  TROUPE_TRY(const auto count, rows_of_errors(l, frame));
  double sum = 0;
  for (std::size_t n = 0; n < l.rows; ++n)
    for (std::size_t c = 0; c < l.classes; ++c) {
      const double d = difference(l, frame, n, c);
      sum += d * d;
    }
  *frame.out<float>(0) = count > 0 ? static_cast<float>(sum / mean_elements(l, count)) : 0.0f;
  *frame.out<float>(1) = static_cast<float>(count);
  return {};
}

Status squared_error_backward(const Loss& l, const NodeFrame& frame) {
  TROUPE_TRY(const auto count, rows_of_errors(l, frame));
  const double factor = 2 * l.scale(frame), elements = mean_elements(l, count);
  auto* const out = frame.out<float>(0);
  for (std::size_t n = 0; n < l.rows; ++n)
    for (std::size_t c = 0; c < l.classes; ++c)
      out[n * l.classes + c] =
          count > 0 ? static_cast<float>(factor * difference(l, frame, n, c) / elements) : 0.0f;
  return {};
}

Status correct_rows(const Loss& l, const NodeFrame& frame) {
  TROUPE_TRY(l.counted(frame)); // checks the labels
  std::size_t correct = 0;
  for (std::size_t n = 0; n < l.rows; ++n) {
    const float* const row = l.values(frame, n);
    correct += std::max_element(row, row + l.classes) - row == l.labels(frame)[n] ? 1 : 0;
  }
  *frame.out<float>(0) = static_cast<float>(correct);
  return {};
}

using Computation = Status(const Loss& loss, const NodeFrame& frame);

Result<StepPtr> loss_step(const Lowering& lowering, const Node& node, Computation* compute) {
  return function_step(node, 0, 0,
                       [loss = Loss{lowering.graph, node}, compute](const NodeFrame& frame) {
                         return compute(loss, frame);
                       });
}

} // namespace

Result<StepPtr> lower_softmax_cross_entropy(Lowering& lowering, const Node& node) {
  return loss_step(lowering, node, cross_entropy);
}

Result<StepPtr> lower_softmax_cross_entropy_backward(Lowering& lowering, const Node& node) {
  return loss_step(lowering, node, cross_entropy_backward);
}

Result<StepPtr> lower_mean_squared_error(Lowering& lowering, const Node& node) {
  return loss_step(lowering, node, squared_error);
}

Result<StepPtr> lower_mean_squared_error_backward(Lowering& lowering, const Node& node) {
  return loss_step(lowering, node, squared_error_backward);
}

Result<StepPtr> lower_count_correct(Lowering& lowering, const Node& node) {
  return loss_step(lowering, node, correct_rows);
}

} // namespace troupe::cpu
