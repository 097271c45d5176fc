// Losses and counts. They are small: one thread works in double, and sums have a fixed order.
#include "cpu/onednn/detail/labels.hpp"
#include "cpu/onednn/lowering.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::cpu {

namespace {

class LossStep : public Step {
public:
  LossStep(const Graph& graph, const Node& node)
      : node_{node}, rows_{static_cast<std::size_t>(graph[node.inputs[0]].shape[0])},
        classes_{static_cast<std::size_t>(graph[node.inputs[0]].shape[1])},
        regression_{graph[node.inputs[1]].dtype == DType::f32} {
    if (const auto* const attributes = std::get_if<LossAttributes>(&node.attributes))
      attributes_ = *attributes;
    name = to_string(node.op);
  }

protected:
  const float* values(const Frame& frame) const { return frame.data<float>(node_.inputs[0]); }
  const std::int32_t* labels(const Frame& frame) const {
    return frame.data<std::int32_t>(node_.inputs[1]);
  }
  template <class T>
  T* output(const Frame& frame, std::size_t i) const {
    return frame.data<T>(node_.outputs[i]);
  }
  /// Returns the factor of gradients: the loss scale, or 1 without one.
  double loss_scale(const Frame& frame) const {
    return node_.inputs.size() == 3 ? double{*frame.data<float>(node_.inputs[2])} : 1.0;
  }
  /// Returns the number of rows with a label.
  Result<std::size_t> counted(const Frame& frame) const {
    return count_labels({labels(frame), rows_}, classes_);
  }
  /// Divisor of sums over rows.
  double mean_rows(std::size_t counted) const {
    return attributes_.rows > 0 ? attributes_.rows : static_cast<double>(counted);
  }

  Node node_;
  LossAttributes attributes_;
  std::size_t rows_, classes_;
  bool regression_;
};

/// Mean over labelled rows of -sum_c target_c log p_c, target as in Szegedy et al. 2016, section 7.
class CrossEntropy final : public LossStep {
public:
  using LossStep::LossStep;

  Status run(const Frame& frame) override {
    TROUPE_TRY(const auto count, counted(frame));
    const double smoothing = double{attributes_.label_smoothing};
    auto* const probabilities = output<float>(frame, 1);
    double loss = 0;
    for (std::size_t n = 0; n < rows_; ++n) {
      const float* const row = values(frame) + n * classes_;
      const double most = double{*std::max_element(row, row + classes_)};
      double sum = 0, total = 0;
      for (std::size_t c = 0; c < classes_; ++c) {
        sum += std::exp(double{row[c]} - most);
        total += double{row[c]};
      }
      for (std::size_t c = 0; c < classes_; ++c)
        probabilities[n * classes_ + c] = static_cast<float>(std::exp(double{row[c]} - most) / sum);
      const auto label = labels(frame)[n];
      if (label < 0)
        continue;
      const double log_sum = most + std::log(sum);
      loss += (1 - smoothing) * (log_sum - double{row[label]}) +
              smoothing * (log_sum - total / static_cast<double>(classes_));
    }
    *output<float>(frame, 0) = count > 0 ? static_cast<float>(loss / mean_rows(count)) : 0.0f;
    *output<float>(frame, 2) = static_cast<float>(count);
    return {};
  }
};

class CrossEntropyBackward final : public LossStep {
public:
  using LossStep::LossStep;

  Status run(const Frame& frame) override {
    TROUPE_TRY(const auto count, counted(frame));
    const double smoothing = double{attributes_.label_smoothing};
    const double share = count > 0 ? loss_scale(frame) / mean_rows(count) : 0.0;
    const double spread = smoothing / static_cast<double>(classes_);
    for (std::size_t n = 0; n < rows_; ++n) {
      const auto label = labels(frame)[n];
      const float* const p = values(frame) + n * classes_;
      float* const d = output<float>(frame, 0) + n * classes_;
      for (std::size_t c = 0; c < classes_; ++c) {
        const double target =
            spread + (static_cast<std::int32_t>(c) == label ? 1 - smoothing : 0.0);
        d[c] = label < 0 ? 0.0f : static_cast<float>((double{p[c]} - target) * share);
      }
    }
    return {};
  }
};

/// The mean is over the elements of the rows that count: those with a label, or whose target does
/// not begin with a NaN.
class SquaredErrorStep : public LossStep {
public:
  using LossStep::LossStep;

protected:
  /// Returns the number of rows that count.
  Result<std::size_t> rows(const Frame& frame) const {
    if (!regression_)
      return counted(frame);
    std::size_t count = 0;
    for (std::size_t n = 0; n < rows_; ++n)
      count += ignores(frame, n) ? 0 : 1;
    return count;
  }
  /// Divisor of the sum over elements.
  double mean_elements(std::size_t rows) const {
    return mean_rows(rows) * static_cast<double>(classes_);
  }
  double difference(const Frame& frame, std::size_t n, std::size_t c) const {
    const std::size_t i = n * classes_ + c;
    const double value = double{values(frame)[i]};
    if (regression_)
      return ignores(frame, n) ? 0.0 : value - double{targets(frame)[i]};
    const auto label = labels(frame)[n];
    return label < 0 ? 0.0 : value - (static_cast<std::int32_t>(c) == label ? 1.0 : 0.0);
  }

private:
  const float* targets(const Frame& frame) const { return frame.data<float>(node_.inputs[1]); }
  bool ignores(const Frame& frame, std::size_t row) const {
    return std::isnan(targets(frame)[row * classes_]);
  }
};

class SquaredError final : public SquaredErrorStep {
public:
  using SquaredErrorStep::SquaredErrorStep;

  Status run(const Frame& frame) override {
    TROUPE_TRY(const auto count, rows(frame));
    double sum = 0;
    for (std::size_t n = 0; n < rows_; ++n)
      for (std::size_t c = 0; c < classes_; ++c) {
        const double d = difference(frame, n, c);
        sum += d * d;
      }
    *output<float>(frame, 0) = count > 0 ? static_cast<float>(sum / mean_elements(count)) : 0.0f;
    *output<float>(frame, 1) = static_cast<float>(count);
    return {};
  }
};

class SquaredErrorBackward final : public SquaredErrorStep {
public:
  using SquaredErrorStep::SquaredErrorStep;

  Status run(const Frame& frame) override {
    TROUPE_TRY(const auto count, rows(frame));
    const double factor = 2 * loss_scale(frame), elements = mean_elements(count);
    auto* const out = output<float>(frame, 0);
    for (std::size_t n = 0; n < rows_; ++n)
      for (std::size_t c = 0; c < classes_; ++c)
        out[n * classes_ + c] =
            count > 0 ? static_cast<float>(factor * difference(frame, n, c) / elements) : 0.0f;
    return {};
  }
};

class CountCorrect final : public LossStep {
public:
  using LossStep::LossStep;

  Status run(const Frame& frame) override {
    TROUPE_TRY(counted(frame)); // checks the labels
    std::size_t correct = 0;
    for (std::size_t n = 0; n < rows_; ++n) {
      const float* const row = values(frame) + n * classes_;
      correct += std::max_element(row, row + classes_) - row == labels(frame)[n] ? 1 : 0;
    }
    *output<float>(frame, 0) = static_cast<float>(correct);
    return {};
  }
};

} // namespace

Result<StepPtr> lower_softmax_cross_entropy(Lowering& lowering, const Node& node) {
  return std::make_unique<CrossEntropy>(lowering.graph, node);
}

Result<StepPtr> lower_softmax_cross_entropy_backward(Lowering& lowering, const Node& node) {
  return std::make_unique<CrossEntropyBackward>(lowering.graph, node);
}

Result<StepPtr> lower_mean_squared_error(Lowering& lowering, const Node& node) {
  return std::make_unique<SquaredError>(lowering.graph, node);
}

Result<StepPtr> lower_mean_squared_error_backward(Lowering& lowering, const Node& node) {
  return std::make_unique<SquaredErrorBackward>(lowering.graph, node);
}

Result<StepPtr> lower_count_correct(Lowering& lowering, const Node& node) {
  return std::make_unique<CountCorrect>(lowering.graph, node);
}

} // namespace troupe::cpu
