/// A graph of cuDNN operations as plain data: what is computed, independent of the engine.
/// lower.hpp turns it into descriptors.
#pragma once

#include "gpu/traffic.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cudnn.h>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace troupe::gpu::cudnn {

/// Identifies a tensor in its graph, and its pointer when the graph runs.
using Uid = std::int64_t;

/// N, C, H, W for convolutions; batch, heads, rows, columns for attention.
using Dims = std::array<std::int64_t, 4>;
/// Strides of NHWC and KRSC.
Dims channels_last_strides(const Dims& dims);

struct TensorSpec {
  Uid uid;
  cudnnDataType_t type;
  Dims dims;
  bool is_virtual = false;          ///< exists only inside the kernel
  std::optional<Dims> strides = {}; ///< in elements; empty: channels-last
  bool is_scratch = false;          ///< lies in the plan's workspace, and keeps no value
  std::optional<float> value = {};  ///< a constant that the plan passes to the kernel

  /// Whether the caller binds memory to it when the graph runs.
  bool is_bound() const { return !is_virtual && !is_scratch && !value; }
  Dims layout() const { return strides ? *strides : channels_last_strides(dims); }
  /// Bytes of memory from the first element to the last, including gaps.
  std::size_t bytes() const;
};

struct ConvolutionOp {
  enum class Direction : std::uint8_t { forward, backward_data, backward_filter };
  Direction direction;
  Uid x, w, y; ///< or their gradients; `direction` decides which one is written
  std::int64_t stride, padding;
};

/// y = f(x), y = f(x, b * b_factor), dx = f'(x) * dy (RELU_BWD and its kind), or y = t ? x : b
/// (BINARY_SELECT).
struct PointwiseOp {
  cudnnPointwiseMode_t mode;
  Uid x, b = 0, y; ///< b: 0 for unary modes; dy for backward modes
  float b_factor = 1.0f;
  Uid t = 0; ///< condition of BINARY_SELECT
};

/// y = each element's index along an axis of x.
struct GenIndexOp {
  Uid x, y;
  std::int64_t axis;
};

/// c = a * b, for each batch and head. Heads of a that outnumber those of b share them in groups of
/// consecutive heads.
struct MatmulOp {
  Uid a, b, c;
};

/// Reduces the dimensions in which y is smaller than x; heads in groups of consecutive heads.
struct ReductionOp {
  cudnnReduceTensorOp_t mode;
  Uid x, y;
};

/// y views x with its last two dimensions exchanged, in the type of y.
struct TransposeOp {
  Uid x, y;
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

using Operation = std::variant<ConvolutionOp, PointwiseOp, GenStatsOp, BnBackwardWeightsOp,
                               GenIndexOp, MatmulOp, ReductionOp, TransposeOp>;

struct OperationGraph {
  std::string name; ///< pattern and shape, for messages: "conv_stats 128x64x56x56 ..."
  std::vector<TensorSpec> tensors;
  std::vector<Operation> operations;
  /// Part of each matrix product that a mask leaves to compute.
  double unmasked = 1;

  const TensorSpec* find(Uid uid) const;
  /// One line with everything that decides what a plan computes. Graphs with equal texts can share
  /// a plan.
  std::string canonical_text() const;
  /// Whether it is attention, whose kernels reach other rates than convolutions.
  bool is_attention() const;
};

/// Returns the traffic and operations of a graph's plan. Counts each bound tensor once, one launch,
/// however many kernels the engine has, and of matrix products the part that a mask leaves. The
/// workspace is not counted.
Traffic traffic_of(const OperationGraph& graph);

} // namespace troupe::gpu::cudnn
