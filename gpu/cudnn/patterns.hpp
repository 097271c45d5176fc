/// The operation graphs that residual networks consist of. Each becomes one kernel (or a few) if
/// find_plans() has a plan for it. Otherwise the caller falls back: c -> b -> a for forward, d and
/// e -> a for backward, f -> c. docs/cudnn-patterns.md lists what fuses where.
///
/// Activations are NHWC and filters KRSC in the problem's type. Tensors with a value per channel
/// are (1, C, 1, 1).
#pragma once

#include "core/graph/op.hpp"
#include "gpu/cudnn/detail/operation_graph.hpp"

namespace troupe::gpu::cudnn {

/// y (N, out, OH, OW) = x (N, in, H, W) * w (out, in, kernel, kernel).
struct ConvolutionProblem {
  std::int64_t batch, height, width, in, out, kernel, stride, padding;
  cudnnDataType_t type = CUDNN_DATA_HALF; ///< of activations and filters

  Dims x() const { return {batch, in, height, width}; }
  Dims w() const { return {out, in, kernel, kernel}; }
  Dims y() const;
  bool operator==(const ConvolutionProblem&) const = default;
  /// "128x56x56x64 -> 64, 3x3 / 1".
  std::string to_string() const;
};

/// Uids of the tensors that graphs read and write. A graph has only those that its function names.
/// Sums and all batch norm tensors are f32, except bn_x, dual_bn_x and shortcut; everything else
/// has the problem's type.
namespace uid {
inline constexpr Uid x = 1, w = 2, y = 3, dx = 4, dw = 5, dy = 6;
inline constexpr Uid scale = 7, bias = 8;
inline constexpr Uid dual_x = 9, dual_scale = 10, dual_bias = 11;
inline constexpr Uid activation = 12;
inline constexpr Uid sum = 13, square_sum = 14;
inline constexpr Uid bn_x = 15, bn_mean = 16, bn_inv_std = 17, bn_scale = 18, bn_bias = 19;
inline constexpr Uid dscale = 20, dbias = 21, a = 22, b = 23, c = 24;
inline constexpr Uid other_dx = 25, shortcut = 26;
/// Added to each of bn_x .. c gives the uid of the second batch norm.
inline constexpr Uid dual_offset = 20;
} // namespace uid

/// a. x, w -> y
OperationGraph convolution_forward(const ConvolutionProblem& problem);
/// a. dy, w -> dx
OperationGraph convolution_backward_data(const ConvolutionProblem& problem);
/// a. x, dy -> dw. dw has type `gradient`: the problem's type, or f32, which few engines write.
OperationGraph convolution_backward_filter(const ConvolutionProblem& problem,
                                           cudnnDataType_t gradient);

/// b. x, w -> y, sum, square_sum: y with the statistics that its batch norm needs.
OperationGraph convolution_statistics(const ConvolutionProblem& problem);

/// c. x, scale, bias, w -> y, sum, square_sum: the convolution reads relu(scale * x + bias), so the
/// normalized activation is never written.
OperationGraph normalized_convolution_statistics(const ConvolutionProblem& problem);

/// d. dy, w, bn_x, bn_mean, bn_inv_std, bn_scale, bn_bias -> dx, dscale, dbias, a, b, c: backward
/// of a convolution that read relu(batch_norm(bn_x)). dx is the gradient of batch norm's result;
/// the gradient of bn_x is a * dx + b * bn_x + c. `shortcut` is the term that was added to batch
/// norm's result before ReLU. Three variants exist for the end of a block:
/// `add` also reads other_dx, the gradient that comes through the next block's shortcut;
/// Residual::plain reads shortcut; Residual::normalized reads and writes the second batch norm
/// (uid::dual_offset), which has the same dx. All three need a stride of 1.
OperationGraph backward_data_batch_norm(const ConvolutionProblem& problem,
                                        Residual shortcut = Residual::none, bool add = false);

/// e. x, scale, bias, dy -> dw: reads relu(scale * x + bias) in place of x. dw has type `gradient`.
OperationGraph normalized_backward_filter(const ConvolutionProblem& problem,
                                          cudnnDataType_t gradient);

/// f. x, scale, bias, dual_x [, dual_scale, dual_bias], w -> activation, y, sum, square_sum: the
/// end of a block fused into the next block's first convolution (1x1 only). activation = relu(scale
/// * x + bias + (dual_scale * dual_x + dual_bias)), or with plain dual_x unless `dual_scaled`.
OperationGraph residual_convolution_statistics(const ConvolutionProblem& problem, bool dual_scaled);

} // namespace troupe::gpu::cudnn
