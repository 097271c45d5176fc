// Batch normalization: two passes over x forward (sums, then normalize with add and relu), two over
// dy and x backward. The first pass is fused with the step that writes x or dy if there is one.
#include "core/fail.hpp"
#include "cpu/kernels/kernels.hpp"
#include "cpu/onednn/detail/batch_norm_step.hpp"
#include "cpu/onednn/detail/convert.hpp"
#include "cpu/parallel.hpp"

#include <cmath>

namespace troupe::cpu {

namespace {

/// Writes elements [from, to) of y.
template <class T>
void write_range(const Frame& frame, const Node& node, const Columns& columns,
                 const ColumnAffine& affine, std::size_t from, std::size_t to) {
  const auto& a = std::get<BatchNormAttributes>(node.attributes);
  const auto* const residual = a.add ? frame.data<T>(node.inputs[5]) + from : nullptr;
  kernels().of<T>().normalize(frame.data<T>(node.inputs[0]) + from, residual,
                              frame.data<T>(node.outputs[0]) + from, {to - from, columns.width()},
                              affine.factor.data(), affine.offset.data(), a.relu);
}

template <class T>
class BatchNormForward final : public BatchNormStep {
public:
  BatchNormForward(const Lowering& lowering, const Node& node, std::shared_ptr<ColumnAffine> affine)
      : BatchNormStep{lowering, node, lowering.graph[node.inputs[0]].shape}, affine_{std::move(
                                                                                 affine)} {
    name = attributes_.add ? "batch norm + add" : "batch norm";
    bytes = static_cast<double>(columns_.elements() * sizeof(T)) * (attributes_.add ? 3 : 2);
  }

  std::optional<Needs> consumes(TensorId tensor) const override {
    if (!attributes_.training || tensor != node_.inputs[0])
      return std::nullopt;
    return Needs{};
  }

  /// Only the sums are fused.
  std::vector<TensorId> remaining() const override { return tensors_of(node_); }

  void consume(const Frame& frame, std::size_t worker, std::size_t begin,
               std::size_t end) override {
    sums_.add(worker, frame.data<T>(node_.inputs[0]) + begin, end - begin);
  }

  Status run(const Frame& frame) override {
    const std::size_t channels = columns_.channels();
    auto* const running_mean = frame.data<float>(node_.inputs[3]);
    auto* const running_var = frame.data<float>(node_.inputs[4]);
    mean_.assign(running_mean, running_mean + channels);
    inv_std_.resize(channels);
    if (attributes_.training) {
      reduce_once(frame);
      finish_statistics(running_mean, running_var);
      std::copy_n(mean_.data(), channels, frame.data<float>(node_.outputs[1]));
      std::copy_n(inv_std_.data(), channels, frame.data<float>(node_.outputs[2]));
    } else {
      for (std::size_t c = 0; c < channels; ++c)
        inv_std_[c] = 1.0f / std::sqrt(running_var[c] + attributes_.eps);
    }
    normalize(frame);
    return {};
  }

private:
  void give_sums(RankSums& sums) const override {
    for (std::size_t c = 0; c < columns_.channels(); ++c) {
      const auto [mean, variance] = sums_.moments(c);
      sums.first(c) = sums.rows() * mean;
      sums.second(c) = sums.rows() * (variance + mean * mean);
    }
  }

  ColumnSums::Moments moments(std::size_t channel) const {
    return rank_sums_
               ? ColumnSums::Moments{rank_sums_->mean(channel), rank_sums_->variance(channel)}
               : sums_.moments(channel);
  }

  void finish_statistics(float* running_mean, float* running_var) {
    const double n = rows();
    for (std::size_t c = 0; c < columns_.channels(); ++c) {
      const auto [mean, variance] = moments(c);
      mean_[c] = static_cast<float>(mean);
      inv_std_[c] =
          static_cast<float>(1.0 / std::sqrt(variance + static_cast<double>(attributes_.eps)));
      const float m = attributes_.momentum;
      running_mean[c] = (1.0f - m) * running_mean[c] + m * mean_[c];
      running_var[c] =
          (1.0f - m) * running_var[c] + m * static_cast<float>(variance * n / (n - 1.0));
    }
  }

  void normalize(const Frame& frame) {
    const auto* const scale = frame.data<float>(node_.inputs[1]);
    const auto* const shift = frame.data<float>(node_.inputs[2]);
    affine_->factor.resize(columns_.width());
    affine_->offset.resize(columns_.width());
    for (std::size_t i = 0; i < columns_.width(); ++i) {
      const std::size_t c = i % columns_.channels();
      affine_->factor[i] = scale[c] * inv_std_[c];
      affine_->offset[i] = shift[c] - mean_[c] * affine_->factor[i];
    }
    columns_.for_ranges([&](std::size_t from, std::size_t to) {
      write_range<T>(frame, node_, columns_, *affine_, from, to);
    });
  }

  std::shared_ptr<ColumnAffine> affine_;
  std::vector<float> mean_, inv_std_;
};

/// y of the forward step, by its factors; fused with the step that writes x if there is one.
template <class T>
class Normalize final : public Step, public SliceConsumer {
public:
  Normalize(const Graph& graph, const Node& node, std::shared_ptr<const ColumnAffine> affine)
      : node_{node}, attributes_{std::get<BatchNormAttributes>(node.attributes)},
        columns_{graph[node.inputs[0]].shape}, affine_{std::move(affine)} {
    name = attributes_.add ? "normalize + add" : "normalize";
    bytes = static_cast<double>(columns_.elements() * sizeof(T)) * (attributes_.add ? 3 : 2);
  }

  std::optional<Needs> consumes(TensorId tensor) const override {
    if (tensor != node_.inputs[0])
      return std::nullopt;
    Needs needs{{}, {node_.outputs[0]}};
    if (attributes_.add)
      needs.reads.push_back(node_.inputs[5]);
    return needs;
  }

  void begin(const Frame&, std::size_t) override { written_ = true; }

  void consume(const Frame& frame, std::size_t, std::size_t begin, std::size_t end) override {
    write_range<T>(frame, node_, columns_, *affine_, begin, end);
  }

  Status run(const Frame& frame) override {
    if (!written_)
      columns_.for_ranges([&](std::size_t from, std::size_t to) { consume(frame, 0, from, to); });
    written_ = false;
    return {};
  }

private:
  Node node_;
  BatchNormAttributes attributes_;
  Columns columns_;
  std::shared_ptr<const ColumnAffine> affine_;
  bool written_ = false;
};

template <class T>
class BatchNormBackward final : public BatchNormStep {
public:
  /// `affine` is the forward step's: a relu's mask is computed again from x, which is read anyway.
  /// With a residual, the mask is read from y.
  BatchNormBackward(const Lowering& lowering, const Node& node,
                    std::shared_ptr<const ColumnAffine> affine)
      : BatchNormStep{lowering, node, lowering.graph[node.inputs[1]].shape}, affine_{std::move(
                                                                                 affine)} {
    name = attributes_.add ? "batch norm + add backward" : "batch norm backward";
    bytes = static_cast<double>(columns_.elements() * sizeof(T)) * 3;
  }

  std::optional<Needs> consumes(TensorId tensor) const override {
    if (tensor != node_.inputs[0])
      return std::nullopt;
    Needs needs{{node_.inputs[1], node_.inputs[3]}, {}};
    if (reads_y())
      needs.reads.push_back(node_.inputs[5]);
    if (attributes_.add)
      needs.writes.push_back(node_.outputs[3]);
    return needs;
  }

  std::vector<TensorId> remaining() const override {
    return {masked(), node_.inputs[1], node_.outputs[0]};
  }

  void begin(const Frame& frame, std::size_t workers) override {
    BatchNormStep::begin(frame, workers);
    const auto* const mean = frame.data<float>(node_.inputs[3]);
    mean_.resize(columns_.width());
    for (std::size_t i = 0; i < columns_.width(); ++i)
      mean_[i] = mean[i % columns_.channels()];
  }

  void consume(const Frame& frame, std::size_t worker, std::size_t begin,
               std::size_t end) override {
    auto* const masked = attributes_.add ? frame.data<T>(node_.outputs[3]) + begin : nullptr;
    const auto* const dy = frame.data<T>(node_.inputs[0]) + begin;
    if (masked && !attributes_.relu)
      std::copy_n(dy, end - begin, masked);
    auto mask = relu_mask();
    if (reads_y())
      mask.y = frame.data<T>(node_.inputs[5]) + begin;
    sums_.add_backward<T>(worker,
                          {dy, frame.data<T>(node_.inputs[1]) + begin, mask,
                           reads_y() ? masked : nullptr, mean_.data(), nullptr, nullptr},
                          end - begin);
  }

  Status run(const Frame& frame) override {
    reduce_once(frame);
    finish(frame);
    const auto* const v = frame.data<T>(masked());
    const auto* const x = frame.data<T>(node_.inputs[1]);
    auto* const dx = frame.data<T>(node_.outputs[0]);
    columns_.for_ranges([&](std::size_t from, std::size_t to) {
      kernels().of<T>().backward_input(v + from, x + from, relu_mask(), dx + from,
                                       {to - from, columns_.width()}, dy_factor_.data(),
                                       x_factor_.data(), offset_.data());
    });
    return {};
  }

private:
  void give_sums(RankSums& sums) const override {
    for (std::size_t c = 0; c < columns_.channels(); ++c) {
      sums.first(c) = sums_.sum(c);
      sums.second(c) = sums_.sum_x(c);
    }
  }

  bool reads_y() const { return attributes_.relu && attributes_.add; }

  /// The gradient that dx is computed from: dy with the relu's mask, if that was written.
  TensorId masked() const { return attributes_.add ? node_.outputs[3] : node_.inputs[0]; }

  ReluMask<T> relu_mask() const {
    if (!attributes_.relu || attributes_.add)
      return {};
    return {nullptr, affine_->factor.data(), affine_->offset.data()};
  }

  /// dx = scale * inv_std * (v - mean(v) - xhat * mean(v * xhat)), as a linear function of v and x.
  /// The means may cover all ranks; dscale and dshift cover this rank.
  void finish(const Frame& frame) {
    const auto* const scale = frame.data<float>(node_.inputs[2]);
    const auto* const inv_std = frame.data<float>(node_.inputs[4]);
    auto* const dscale = frame.data<float>(node_.outputs[1]);
    auto* const dshift = frame.data<float>(node_.outputs[2]);
    const double n = rows();
    for (auto* const values : {&dy_factor_, &x_factor_, &offset_})
      values->resize(columns_.width());
    for (std::size_t c = 0; c < columns_.channels(); ++c) {
      const auto inv = static_cast<double>(inv_std[c]);
      const double factor = static_cast<double>(scale[c]) * inv;
      dshift[c] = static_cast<float>(sums_.sum(c));
      dscale[c] = static_cast<float>(sums_.sum_x(c) * inv);
      const double sum = rank_sums_ ? rank_sums_->first(c) : sums_.sum(c);
      const double sum_x = rank_sums_ ? rank_sums_->second(c) : sums_.sum_x(c);
      const double x_factor = -factor * inv * inv * sum_x / n;
      for (std::size_t i = c; i < columns_.width(); i += columns_.channels()) {
        dy_factor_[i] = static_cast<float>(factor);
        x_factor_[i] = static_cast<float>(x_factor);
        offset_[i] =
            static_cast<float>(-factor * sum / n - x_factor * static_cast<double>(mean_[c]));
      }
    }
  }

  std::shared_ptr<const ColumnAffine> affine_;
  std::vector<float> mean_, dy_factor_, x_factor_, offset_;
};

/// Returns the factors of the batch norm that saved this mean; later steps share them.
Result<std::shared_ptr<const ColumnAffine>> affine_of(const Lowering& lowering, TensorId mean) {
  const auto forward = lowering.affines.find(mean);
  if (forward == lowering.affines.end())
    return fail(Errc::internal, "{} belongs to no forward node", lowering.graph[mean].name);
  return forward->second;
}

} // namespace

Result<StepPtr> lower_batch_norm(Lowering& lowering, const Node& node) {
  auto affine = std::make_shared<ColumnAffine>();
  if (node.outputs.size() > 1)
    lowering.affines.emplace(node.outputs[1], affine);
  return typed_step<BatchNormForward>(lowering.graph[node.inputs[0]].dtype, lowering, node,
                                      std::move(affine));
}

Result<StepPtr> lower_normalize(Lowering& lowering, const Node& node) {
  TROUPE_TRY(auto affine, affine_of(lowering, node.inputs[3]));
  return typed_step<Normalize>(lowering.graph[node.inputs[0]].dtype, lowering.graph, node,
                               std::move(affine));
}

Result<StepPtr> lower_batch_norm_backward(Lowering& lowering, const Node& node) {
  if (node.inputs.size() > 6) // no step of this lowering saves factor and offset
    return failure(unsupported(lowering.graph, node));
  TROUPE_TRY(auto affine, affine_of(lowering, node.inputs[3]));
  return typed_step<BatchNormBackward>(lowering.graph[node.inputs[0]].dtype, lowering, node,
                                       std::move(affine));
}

} // namespace troupe::cpu
