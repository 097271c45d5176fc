/// The ops that a graph is made of, and what sets one node of an op apart from another.
#pragma once

#include "core/graph/tensor.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace troupe {

/// What each takes and gives stands in ops.def.
enum class Op : std::uint8_t {
#define TROUPE_OP(name) name,
#include "core/graph/ops.def"
#undef TROUPE_OP
};

inline constexpr auto all_ops = std::to_array<Op>({
#define TROUPE_OP(name) Op::name,
#include "core/graph/ops.def"
#undef TROUPE_OP
});

inline constexpr std::size_t op_count = all_ops.size();

std::string_view to_string(Op op);

/// What is added to a batch norm's result before ReLU, at the end of a residual block.
enum class Residual : std::uint8_t {
  none,
  plain,      ///< a tensor
  normalized, ///< another batch norm's result
};

struct Conv2dAttributes {
  std::int64_t kernel = 3, stride = 1, padding = 1;
  /// So many last channels of x have no weight. They are zero, and a device may or may not read
  /// them. Images alone are padded (nn/passes/format_input), so no dx is ever asked for.
  std::int64_t padded_channels = 0;
  /// What is convolved is relu(x * factor + offset), factor and offset (C) of x's dtype, rounded to
  /// it: batch norm and ReLU on the way in. The border's padding is 0 after that.
  bool prologue = false;
  /// Also gives sum and sum_of_squares (O) f32 of y over N, H and W. The interpreter sums what is
  /// stored; a device may sum before it rounds y.
  bool statistics = false;
  bool batch_norm_relu = false; ///< conv2d_backward_data alone
  /// Of the prologue, which then also gives what is convolved; or of batch_norm_relu.
  Residual residual = Residual::none;
  bool add_gradient = false; ///< with batch_norm_relu: to dx, before the mask
  /// For inference (nn/passes/fold_batch_norm): conv2d adds a bias (O) f32 to y; then, where these
  /// are set, the residual input, and clips at 0. Rounded once. Neither prologue nor statistics.
  bool bias = false;
  bool add = false, relu = false; ///< with bias
  bool operator==(const Conv2dAttributes&) const = default;
};

struct PoolAttributes {
  std::int64_t kernel_h = 2, kernel_w = 2, stride = 2, padding = 0; ///< averages count padding out
  bool prologue = false; ///< max_pool alone: as Conv2dAttributes
  bool operator==(const PoolAttributes&) const = default;
};

struct BatchNormAttributes {
  float eps = 1e-5f;
  float momentum =
      0.1f; ///< running = (1 - momentum) * running + momentum * batch (unbiased variance)
  bool training = true; ///< batch statistics, else the running ones
  bool relu = false;    ///< fused: y = relu(...)
  bool add = false;     ///< fused: the residual input is added before relu
  /// Training: statistics of all ranks' values, where ranks can be summed over
  /// (Executable::bind_sum_over_ranks). Op::normalize takes them as they were saved.
  bool synchronized = false;
  bool mask = false;         ///< with add and relu: gives, or takes, what relu let pass (ops.def)
  bool add_gradient = false; ///< batch_norm_backward alone, with add: to dy
  /// batch_norm_backward alone, with relu and without add: dy is the gradient of what this max_pool
  /// made of the result.
  std::optional<PoolAttributes> pooled = std::nullopt;
  bool operator==(const BatchNormAttributes&) const = default;
};

/// Ba, Kiros & Hinton, "Layer Normalization", 2016.
struct LayerNormAttributes {
  float eps = 1e-5f;
  bool operator==(const LayerNormAttributes&) const = default;
};

/// y = x / sqrt(mean(x^2) + eps) * scale: Zhang & Sennrich, "Root Mean Square Layer Normalization",
/// 2019.
struct RmsNormAttributes {
  float eps = 1e-6f;
  bool operator==(const RmsNormAttributes&) const = default;
};

struct MatmulAttributes {
  bool wide = false; ///< y is f32, whatever x is
  bool operator==(const MatmulAttributes&) const = default;
};

struct PositionAttributes {
  std::int64_t sequence = 1; ///< rows of a sequence, which follow each other
  bool operator==(const PositionAttributes&) const = default;
};

/// Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021. As Hugging
/// Face's models have it, elements i and i + head_dim / 2 of a head are a pair, which the row at
/// place t of its sequence turns by t * theta^(-2 * i / head_dim).
struct RopeAttributes {
  std::int64_t sequence = 1, heads = 1, head_dim = 2;
  float theta = 10000.0f;
  bool operator==(const RopeAttributes&) const = default;
};

/// softmax(q * k^T / sqrt(head_dim)) * v of each head: Vaswani et al. 2017; heads / kv_heads
/// neighbouring heads have the same k and v: Ainslie et al., "GQA", 2023. `sequence`: rows that
/// there are of each; cached_attention has more before them.
struct AttentionAttributes {
  std::int64_t sequence = 1, heads = 1, kv_heads = 1, head_dim = 1;
  bool operator==(const AttentionAttributes&) const = default;
};

struct FinalizeAttributes {
  float eps = 1e-5f, momentum = 0.1f; ///< as BatchNormAttributes
  std::int64_t count = 0;             ///< values per channel that were summed
  DType type = DType::f32;            ///< of factor and offset: that of who reads them
  bool also_f32 = false;              ///< gives factor and offset in f32, too
  bool copies = false; ///< gives scale and shift as they are: other units cannot read parameters
  bool operator==(const FinalizeAttributes&) const = default;
};

struct ScaleShiftAttributes {
  bool relu = false;
  bool mask = false; ///< as BatchNormAttributes
  bool operator==(const ScaleShiftAttributes&) const = default;
};

/// Hendrycks & Gimpel, "Gaussian Error Linear Units", 2016.
struct GeluAttributes {
  /// y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) instead.
  bool tanh = false;
  bool operator==(const GeluAttributes&) const = default;
};

/// Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", 2014.
struct DropoutAttributes {
  float rate = 0.1f; ///< of elements that become 0, in [0, 1); the others are divided by 1 - it
  std::int32_t place = 0; ///< among the model's: each draws numbers of its own
  bool operator==(const DropoutAttributes&) const = default;
};

struct SubsamplePadAttributes {
  std::int64_t stride = 2, pad_before = 0, pad_after = 0;
  bool operator==(const SubsamplePadAttributes&) const = default;
};

struct LossAttributes {
  float label_smoothing = 0.0f; ///< softmax_cross_entropy alone
  /// What sums over rows are divided by, instead of by how many rows have a label; 0: by those.
  double rows = 0;
  bool gradient = false; ///< softmax_cross_entropy alone: it gives dlogits, not probabilities
  bool correct = false;  ///< with gradient: gives what count_correct does
  bool loss = false;     ///< linear_cross_entropy_backward alone: it gives the loss, too
  bool operator==(const LossAttributes&) const = default;
};

using Attributes =
    std::variant<std::monostate, Conv2dAttributes, BatchNormAttributes, FinalizeAttributes,
                 ScaleShiftAttributes, PoolAttributes, SubsamplePadAttributes, LossAttributes,
                 GeluAttributes, LayerNormAttributes, RmsNormAttributes, PositionAttributes,
                 RopeAttributes, AttentionAttributes, DropoutAttributes, MatmulAttributes>;

} // namespace troupe
