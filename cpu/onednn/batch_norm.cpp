// Batch normalization: two passes over x forward (sums, then normalize with add and relu), two over
// dy and x backward.
#include "../kernels/kernels.hpp"
#include "../parallel.hpp"
#include "columns.hpp"
#include "lowering.hpp"

#include <cmath>

namespace troupe::cpu {

namespace {

template <class T>
class BatchNormForward final : public Step {
public:
  BatchNormForward(const Graph& graph, const Node& node)
      : node_{node}, attributes_{std::get<BatchNormAttributes>(node.attributes)},
        columns_{graph[node.inputs[0]].shape} {
    name = attributes_.add ? "batch norm + add" : "batch norm";
    bytes = static_cast<double>(columns_.elements() * sizeof(T)) *
            ((attributes_.training ? 3 : 2) + (attributes_.add ? 1 : 0));
  }

  Status run(const Frame& frame) override {
    const std::size_t channels = columns_.channels();
    auto* const running_mean = frame.data<float>(node_.inputs[3]);
    auto* const running_var = frame.data<float>(node_.inputs[4]);
    const auto* const x = frame.data<T>(node_.inputs[0]);
    mean_.assign(running_mean, running_mean + channels);
    inv_std_.resize(channels);
    if (attributes_.training) {
      sums_.add(columns_, x);
      finish_statistics(running_mean, running_var);
      std::copy_n(mean_.data(), channels, frame.data<float>(node_.outputs[1]));
      std::copy_n(inv_std_.data(), channels, frame.data<float>(node_.outputs[2]));
    } else {
      for (std::size_t c = 0; c < channels; ++c)
        inv_std_[c] = 1.0f / std::sqrt(running_var[c] + attributes_.eps);
    }
    normalize(frame, x);
    return {};
  }

private:
  void finish_statistics(float* running_mean, float* running_var) {
    const auto n = static_cast<double>(columns_.rows());
    for (std::size_t c = 0; c < columns_.channels(); ++c) {
      const double shifted = sums_.sum(c) / n;
      const double variance = std::max(sums_.sum_squares(c) / n - shifted * shifted, 0.0);
      const double mean = sums_.shift(c) + shifted;
      mean_[c] = static_cast<float>(mean);
      inv_std_[c] =
          static_cast<float>(1.0 / std::sqrt(variance + static_cast<double>(attributes_.eps)));
      const float m = attributes_.momentum;
      running_mean[c] = (1.0f - m) * running_mean[c] + m * mean_[c];
      running_var[c] =
          (1.0f - m) * running_var[c] + m * static_cast<float>(variance * n / (n - 1.0));
    }
  }

  void normalize(const Frame& frame, const T* x) {
    const auto* const scale = frame.data<float>(node_.inputs[1]);
    const auto* const shift = frame.data<float>(node_.inputs[2]);
    const auto* const residual = attributes_.add ? frame.data<T>(node_.inputs[5]) : nullptr;
    auto* const y = frame.data<T>(node_.outputs[0]);
    factor_.resize(columns_.width());
    offset_.resize(columns_.width());
    for (std::size_t i = 0; i < columns_.width(); ++i) {
      const std::size_t c = i % columns_.channels();
      factor_[i] = scale[c] * inv_std_[c];
      offset_[i] = shift[c] - mean_[c] * factor_[i];
    }
    columns_.for_parts([&](std::size_t, std::size_t begin, std::size_t end) {
      kernels().of<T>().normalize(x + begin, residual ? residual + begin : nullptr, y + begin,
                                  {end - begin, columns_.width()}, factor_.data(), offset_.data(),
                                  attributes_.relu);
    });
  }

  Node node_;
  BatchNormAttributes attributes_;
  Columns columns_;
  ColumnSums<T> sums_;
  std::vector<float> mean_, inv_std_, factor_, offset_;
};

template <class T>
class BatchNormBackward final : public Step {
public:
  BatchNormBackward(const Graph& graph, const Node& node)
      : node_{node}, attributes_{std::get<BatchNormAttributes>(node.attributes)},
        columns_{graph[node.inputs[1]].shape} {
    name = attributes_.add ? "batch norm + add backward" : "batch norm backward";
    bytes = static_cast<double>(columns_.elements() * sizeof(T)) * (5 + (attributes_.add    ? 2
                                                                         : attributes_.relu ? 2
                                                                                            : 0));
  }

  Status run(const Frame& frame) override {
    const auto* const mean = frame.data<float>(node_.inputs[3]);
    mean_.resize(columns_.width());
    for (std::size_t i = 0; i < columns_.width(); ++i)
      mean_[i] = mean[i % columns_.channels()];
    auto* const masked = attributes_.add ? frame.data<T>(node_.outputs[3]) : nullptr;
    const auto* const dy = frame.data<T>(node_.inputs[0]);
    const auto* const x = frame.data<T>(node_.inputs[1]);
    const auto* const y = attributes_.relu ? frame.data<T>(node_.inputs[5]) : nullptr;
    sums_.add_backward(columns_, {dy, x, y, masked, mean_.data(), nullptr, nullptr});
    finish(frame);
    // Where the masked gradient was written, it is read again, and the mask is not.
    const auto* const v = masked ? masked : dy;
    const auto* const mask = masked ? nullptr : y;
    auto* const dx = frame.data<T>(node_.outputs[0]);
    columns_.for_parts([&](std::size_t, std::size_t begin, std::size_t end) {
      kernels().of<T>().backward_input(v + begin, x + begin, mask ? mask + begin : nullptr,
                                       dx + begin, {end - begin, columns_.width()},
                                       dy_factor_.data(), x_factor_.data(), offset_.data());
    });
    return {};
  }

private:
  /// dx = scale * inv_std * (v - mean(v) - xhat * mean(v * xhat)), as a linear function of v and x.
  void finish(const Frame& frame) {
    const auto* const scale = frame.data<float>(node_.inputs[2]);
    const auto* const inv_std = frame.data<float>(node_.inputs[4]);
    auto* const dscale = frame.data<float>(node_.outputs[1]);
    auto* const dshift = frame.data<float>(node_.outputs[2]);
    const auto n = static_cast<double>(columns_.rows());
    for (auto* const values : {&dy_factor_, &x_factor_, &offset_})
      values->resize(columns_.width());
    for (std::size_t c = 0; c < columns_.channels(); ++c) {
      const double inv = static_cast<double>(inv_std[c]),
                   factor = static_cast<double>(scale[c]) * inv;
      const double sum = sums_.sum(c), sum_x = sums_.sum_squares(c);
      dshift[c] = static_cast<float>(sum);
      dscale[c] = static_cast<float>(sum_x * inv);
      const double x_factor = -factor * inv * inv * sum_x / n;
      for (std::size_t i = c; i < columns_.width(); i += columns_.channels()) {
        dy_factor_[i] = static_cast<float>(factor);
        x_factor_[i] = static_cast<float>(x_factor);
        offset_[i] =
            static_cast<float>(-factor * sum / n - x_factor * static_cast<double>(mean_[c]));
      }
    }
  }

  Node node_;
  BatchNormAttributes attributes_;
  Columns columns_;
  ColumnSums<T> sums_;
  std::vector<float> mean_, dy_factor_, x_factor_, offset_;
};

} // namespace

Result<StepPtr> lower_batch_norm(Lowering& lowering, const Node& node) {
  const auto& graph = lowering.graph;
  const bool bf16 = graph[node.inputs[0]].dtype == DType::bf16;
  if (node.op == Op::batch_norm) {
    if (bf16)
      return std::make_unique<BatchNormForward<Bf16>>(graph, node);
    return std::make_unique<BatchNormForward<float>>(graph, node);
  }
  if (bf16)
    return std::make_unique<BatchNormBackward<Bf16>>(graph, node);
  return std::make_unique<BatchNormBackward<float>>(graph, node);
}

} // namespace troupe::cpu
