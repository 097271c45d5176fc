/// A graph of cuDNN operations as plain data: what is computed, independent of the engine.
/// lower.hpp turns it into descriptors.
#pragma once

#include "gpu/traffic.hpp"

#include <array>
#include <cstdint>
#include <cudnn.h>
#include <string>
#include <variant>
#include <vector>

namespace troupe::gpu::cudnn {

/// Identifies a tensor in its graph, and its pointer when the graph runs.
using Uid = std::int64_t;

/// N, C, H, W, the order of cuDNN's dimensions. Memory is always channels-last (NHWC, KRSC).
using Dims = std::array<std::int64_t, 4>;
Dims channels_last_strides(const Dims& dims);

struct TensorSpec {
  Uid uid;
  cudnnDataType_t type;
  Dims dims;
  bool is_virtual = false; ///< exists only inside the kernel
};

struct ConvolutionOp {
  enum class Direction : std::uint8_t { forward, backward_data, backward_filter };
  Direction direction;
  Uid x, w, y; ///< or their gradients; `direction` decides which one is written
  std::int64_t stride, padding;
};

/// y = f(x), y = f(x, b * b_factor), or dx = f'(x) * dy (RELU_BWD and its kind).
struct PointwiseOp {
  cudnnPointwiseMode_t mode;
  Uid x, b = 0, y; ///< b: 0 for unary modes; dy for backward modes
  float b_factor = 1.0f;
};

/// Sums x and its squares per channel over N, H and W. x is taken as stored.
struct GenStatsOp {
  Uid x, sum, square_sum;
};

/// Computes dscale, dbias, and A, B, C of dx = A * dy + B * x + C.
struct BnBackwardWeightsOp {
  Uid x, dy, mean, inv_std, scale;
  Uid dscale, dbias, a, b, c;
};

using Operation = std::variant<ConvolutionOp, PointwiseOp, GenStatsOp, BnBackwardWeightsOp>;

struct OperationGraph {
  std::string name; ///< pattern and shape, for messages: "conv_stats 128x64x56x56 ..."
  std::vector<TensorSpec> tensors;
  std::vector<Operation> operations;

  const TensorSpec* find(Uid uid) const;
  /// One line with everything that decides what a plan computes. Graphs with equal texts can share
  /// a plan.
  std::string canonical_text() const;
};

/// Returns the traffic and operations of a graph's plan. Counts one launch, however many kernels
/// the engine has; the workspace is not counted.
Traffic traffic_of(const OperationGraph& graph);

} // namespace troupe::gpu::cudnn
