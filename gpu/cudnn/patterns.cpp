#include "gpu/cudnn/patterns.hpp"

#include <fmt/format.h>

#include <utility>

namespace troupe::gpu::cudnn {

namespace {

constexpr auto f32 = CUDNN_DATA_FLOAT;
using Direction = ConvolutionOp::Direction;

Dims per_channel(std::int64_t channels) {
  return {1, channels, 1, 1};
}

/// Collects the tensors and operations of one pattern.
class Builder {
public:
  Builder(std::string_view pattern, const ConvolutionProblem& problem) : problem_(problem) {
    graph_.name = fmt::format("{} {}", pattern, problem.to_string());
  }

  Uid tensor(Uid uid, const Dims& dims, cudnnDataType_t type) {
    graph_.tensors.push_back({uid, type, dims});
    return uid;
  }
  /// Adds a virtual tensor, fp32 by default.
  Uid inner(const Dims& dims, cudnnDataType_t type = f32) {
    graph_.tensors.push_back({next_, type, dims, true});
    return next_++;
  }

  Uid binary(cudnnPointwiseMode_t mode, Uid x, Uid b, const Dims& dims, float b_factor = 1.0f) {
    const auto y = inner(dims);
    graph_.operations.emplace_back(PointwiseOp{mode, x, b, y, b_factor});
    return y;
  }
  /// scale * x + bias.
  Uid affine(Uid x, Uid scale, Uid bias, const Dims& dims) {
    const auto scaled = binary(CUDNN_POINTWISE_MUL, x, scale, dims);
    return binary(CUDNN_POINTWISE_ADD, scaled, bias, dims);
  }
  void relu(Uid x, Uid y) {
    graph_.operations.emplace_back(PointwiseOp{CUDNN_POINTWISE_RELU_FWD, x, 0, y});
  }

  /// scale * x + bias, with tensors x, scale and bias of the problem's type.
  Uid affine_input(Uid x, Uid scale, Uid bias) {
    tensor(x, problem_.x(), problem_.type);
    tensor(scale, per_channel(problem_.in), problem_.type);
    tensor(bias, per_channel(problem_.in), problem_.type);
    return affine(x, scale, bias, problem_.x());
  }

  /// relu(scale * x + bias).
  Uid normalized_input() {
    const auto normalized = affine_input(uid::x, uid::scale, uid::bias);
    // The type that tensor cores multiply: generic engines (bf16's) require explicit rounding.
    const auto y = inner(problem_.x(), problem_.type);
    relu(normalized, y);
    return y;
  }

  void convolution(Direction direction, Uid x, Uid w, Uid y) {
    graph_.operations.emplace_back(
        ConvolutionOp{direction, x, w, y, problem_.stride, problem_.padding});
  }
  /// Convolves x with w into y, and adds y's statistics.
  void forward_with_statistics(Uid x) {
    tensor(uid::w, problem_.w(), problem_.type);
    tensor(uid::y, problem_.y(), problem_.type);
    convolution(Direction::forward, x, uid::w, uid::y);
    const auto channel = per_channel(problem_.out);
    tensor(uid::sum, channel, f32);
    tensor(uid::square_sum, channel, f32);
    graph_.operations.emplace_back(GenStatsOp{uid::y, uid::sum, uid::square_sum});
  }

  /// Returns the result of the batch norm whose uids begin at `offset`, from its input and
  /// statistics.
  Uid batch_norm(Uid offset) {
    const auto dims = problem_.x();
    const auto channel = per_channel(problem_.in);
    const auto x = tensor(uid::bn_x + offset, dims, problem_.type);
    const auto mean = tensor(uid::bn_mean + offset, channel, f32);
    const auto inv_std = tensor(uid::bn_inv_std + offset, channel, f32);
    const auto scale = tensor(uid::bn_scale + offset, channel, f32);
    const auto bias = tensor(uid::bn_bias + offset, channel, f32);
    const auto centered = binary(CUDNN_POINTWISE_ADD, x, mean, dims, -1.0f);
    return affine(binary(CUDNN_POINTWISE_MUL, centered, inv_std, dims), scale, bias, dims);
  }
  /// Adds the batch norm's gradients, from dx.
  void batch_norm_backward(Uid offset) {
    const auto channel = per_channel(problem_.in);
    for (const auto uid : {uid::dscale, uid::dbias, uid::a, uid::b, uid::c})
      tensor(uid + offset, channel, f32);
    graph_.operations.emplace_back(BnBackwardWeightsOp{
        uid::bn_x + offset, uid::dx, uid::bn_mean + offset, uid::bn_inv_std + offset,
        uid::bn_scale + offset, uid::dscale + offset, uid::dbias + offset, uid::a + offset,
        uid::b + offset, uid::c + offset});
  }

  /// Writes dw as `gradient`. Engines that write a type other than the one they read require a
  /// conversion after the convolution.
  void backward_filter(Uid x, cudnnDataType_t gradient) {
    tensor(uid::dy, problem_.y(), problem_.type);
    tensor(uid::dw, problem_.w(), gradient);
    if (gradient == problem_.type)
      return convolution(Direction::backward_filter, x, uid::dw, uid::dy);
    const auto raw = inner(problem_.w());
    convolution(Direction::backward_filter, x, raw, uid::dy);
    graph_.operations.emplace_back(PointwiseOp{CUDNN_POINTWISE_IDENTITY, raw, 0, uid::dw});
  }

  template <class Op>
  void add(const Op& operation) {
    graph_.operations.emplace_back(operation);
  }
  OperationGraph take() { return std::move(graph_); }

private:
  const ConvolutionProblem& problem_;
  OperationGraph graph_;
  Uid next_ = 100;
};

/// `x` and `y`: the activations, or their gradients.
OperationGraph plain_convolution(std::string_view pattern, Direction direction,
                                 const ConvolutionProblem& problem, Uid x, Uid y) {
  Builder builder(pattern, problem);
  builder.tensor(x, problem.x(), problem.type);
  builder.tensor(uid::w, problem.w(), problem.type);
  builder.tensor(y, problem.y(), problem.type);
  builder.convolution(direction, x, uid::w, y);
  return builder.take();
}

} // namespace

Dims ConvolutionProblem::y() const {
  return {batch, out, (height + 2 * padding - kernel) / stride + 1,
          (width + 2 * padding - kernel) / stride + 1};
}

std::string ConvolutionProblem::to_string() const {
  return fmt::format("{}x{}x{}x{} -> {}, {}x{} / {}", batch, height, width, in, out, kernel, kernel,
                     stride);
}

OperationGraph convolution_forward(const ConvolutionProblem& problem) {
  return plain_convolution("convolution forward", Direction::forward, problem, uid::x, uid::y);
}

OperationGraph convolution_backward_data(const ConvolutionProblem& problem) {
  return plain_convolution("convolution backward data", Direction::backward_data, problem, uid::dx,
                           uid::dy);
}

OperationGraph convolution_backward_filter(const ConvolutionProblem& problem,
                                           cudnnDataType_t gradient) {
  Builder builder("convolution backward filter", problem);
  builder.backward_filter(builder.tensor(uid::x, problem.x(), problem.type), gradient);
  return builder.take();
}

OperationGraph convolution_statistics(const ConvolutionProblem& problem) {
  Builder builder("convolution with statistics", problem);
  builder.forward_with_statistics(builder.tensor(uid::x, problem.x(), problem.type));
  return builder.take();
}

OperationGraph normalized_convolution_statistics(const ConvolutionProblem& problem) {
  Builder builder("convolution of a normalized input with statistics", problem);
  builder.forward_with_statistics(builder.normalized_input());
  return builder.take();
}

OperationGraph backward_data_batch_norm(const ConvolutionProblem& problem, Residual shortcut,
                                        bool add) {
  Builder builder(fmt::format("convolution backward data{} with batch norm's backward weights{}",
                              add ? " and add" : "",
                              shortcut == Residual::none    ? ""
                              : shortcut == Residual::plain ? " and shortcut"
                                                            : " twice"),
                  problem);
  const auto dims = problem.x();
  builder.tensor(uid::dy, problem.y(), problem.type);
  builder.tensor(uid::w, problem.w(), problem.type);
  builder.tensor(uid::dx, dims, problem.type);
  auto gradient = builder.inner(dims);
  builder.convolution(Direction::backward_data, gradient, uid::w, uid::dy);
  if (add)
    gradient = builder.binary(CUDNN_POINTWISE_ADD, gradient,
                              builder.tensor(uid::other_dx, dims, problem.type), dims);
  // Recomputes ReLU's input of the forward pass: its sign is ReLU's mask.
  auto result = builder.batch_norm(0);
  if (shortcut == Residual::plain)
    result = builder.binary(CUDNN_POINTWISE_ADD, result,
                            builder.tensor(uid::shortcut, dims, problem.type), dims);
  if (shortcut == Residual::normalized)
    result =
        builder.binary(CUDNN_POINTWISE_ADD, result, builder.batch_norm(uid::dual_offset), dims);
  builder.add(PointwiseOp{CUDNN_POINTWISE_RELU_BWD, result, gradient, uid::dx});
  builder.batch_norm_backward(0);
  if (shortcut == Residual::normalized)
    builder.batch_norm_backward(uid::dual_offset);
  return builder.take();
}

OperationGraph normalized_backward_filter(const ConvolutionProblem& problem,
                                          cudnnDataType_t gradient) {
  Builder builder("convolution backward filter of a normalized input", problem);
  builder.backward_filter(builder.normalized_input(), gradient);
  return builder.take();
}

OperationGraph residual_convolution_statistics(const ConvolutionProblem& problem,
                                               bool dual_scaled) {
  Builder builder("convolution of a block's end with statistics", problem);
  const auto dims = problem.x();
  const auto normalized = builder.affine_input(uid::x, uid::scale, uid::bias);
  const auto dual = dual_scaled ? builder.affine_input(uid::dual_x, uid::dual_scale, uid::dual_bias)
                                : builder.tensor(uid::dual_x, dims, problem.type);
  const auto added = builder.binary(CUDNN_POINTWISE_ADD, normalized, dual, dims);
  builder.tensor(uid::activation, dims, problem.type);
  builder.relu(added, uid::activation);
  builder.forward_with_statistics(uid::activation);
  return builder.take();
}

} // namespace troupe::gpu::cudnn
