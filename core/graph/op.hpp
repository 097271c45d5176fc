/// The ops of a graph, and the attributes of their nodes.
#pragma once

#include "core/choice.hpp"
#include "core/graph/tensor.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace troupe {

/// ops.def lists the inputs and outputs of each op.
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

template <>
inline constexpr auto choice_words<Op> = std::to_array<std::string_view>({
#define TROUPE_OP(name) #name,
#include "core/graph/ops.def"
#undef TROUPE_OP
});

/// The summand of a batch norm's result before ReLU, at the end of a residual block.
enum class Residual : std::uint8_t {
  none,
  plain,      ///< a tensor
  normalized, ///< the result of another batch norm
};

struct Conv2dAttributes {
  std::int64_t kernel = 3, stride = 1, padding = 1;
  /// The last channels of x that have no weight. They are zero; a device may skip them. Only images
  /// are padded (nn/passes/format_input), so dx is never needed.
  std::int64_t padded_channels = 0;
  /// Convolves relu(x * factor + offset) instead of x: the batch norm and ReLU before the
  /// convolution. factor and offset (C) have x's dtype, and the result is rounded to it. The
  /// border's padding is 0 after that.
  bool prologue = false;
  /// Also outputs sum and sum_of_squares (O) f32 of y over N, H and W. The interpreter sums the
  /// stored values; a device may sum before it rounds y.
  bool statistics = false;
  bool batch_norm_relu = false; ///< only conv2d_backward_data
  /// The residual of the prologue, which then also outputs the convolved tensor; or of
  /// batch_norm_relu.
  Residual residual = Residual::none;
  bool add_gradient = false; ///< with batch_norm_relu: adds a gradient to dx, before the mask
  /// For inference (nn/passes/fold_batch_norm): conv2d adds a bias (O) f32 to y, then the residual
  /// input if `add` is set, and clips at 0 if `relu` is set. Rounds once. Not with prologue or
  /// statistics.
  bool bias = false;
  bool add = false, relu = false; ///< with bias
  bool operator==(const Conv2dAttributes&) const = default;
};

struct PoolAttributes {
  std::int64_t kernel_h = 2, kernel_w = 2, stride = 2, padding = 0; ///< averages leave padding out
  bool prologue = false; ///< only max_pool: as Conv2dAttributes
  bool operator==(const PoolAttributes&) const = default;
};

struct BatchNormAttributes {
  float eps = 1e-5f;
  float momentum =
      0.1f; ///< running = (1 - momentum) * running + momentum * batch (unbiased variance)
  bool training = true; ///< batch statistics, else the running ones
  bool relu = false;    ///< fused: y = relu(...)
  bool add = false;     ///< fused: the residual input is added before relu
  /// Training: computes statistics over the values of all ranks if a sum over ranks is bound
  /// (Executable::bind_sum_over_ranks). Op::normalize uses the saved statistics.
  bool synchronized = false;
  bool mask = false;         ///< with add and relu: outputs, or takes, relu's mask (ops.def)
  bool add_gradient = false; ///< only batch_norm_backward, with add: adds a gradient to dy
  /// Only batch_norm_backward, with relu and without add: dy is the gradient of the output of this
  /// max_pool, which pooled the batch norm's result.
  std::optional<PoolAttributes> pooled = std::nullopt;
  bool operator==(const BatchNormAttributes&) const = default;
};

/// Work that layer_norm and rms_norm do besides normalizing (nn/passes/fuse_norms). ops.def lists
/// the tensors.
struct NormFusion {
  std::optional<DType> type = std::nullopt; ///< of y, and of dy in backward; empty: that of x
  bool add = false; ///< forward: normalizes the sum of x and another tensor, and outputs it
  bool add_gradient = false; ///< backward: adds another part of the gradient to dx
  bool narrow = false;       ///< backward: outputs dx also in f16 or bf16
  bool operator==(const NormFusion&) const = default;
};

/// Ba, Kiros & Hinton, "Layer Normalization", 2016.
struct LayerNormAttributes {
  float eps = 1e-5f;
  NormFusion fusion = {};
  bool operator==(const LayerNormAttributes&) const = default;
};

/// y = x / sqrt(mean(x^2) + eps) * scale: Zhang & Sennrich, "Root Mean Square Layer Normalization",
/// 2019.
struct RmsNormAttributes {
  float eps = 1e-6f;
  NormFusion fusion = {};
  bool operator==(const RmsNormAttributes&) const = default;
};

struct MatmulAttributes {
  bool wide = false; ///< y is f32, whatever x is
  /// matmul: y is gelu {tanh} of the product plus bias, which is also output; not with wide.
  /// matmul_backward_data: dx is multiplied by gelu's derivative. The interpreter takes gelu of the
  /// stored product; a device may take it before it rounds the product.
  bool gelu = false;
  bool bias_gradient = false; ///< only matmul_backward_weight: also outputs the sum of dy over rows
  bool operator==(const MatmulAttributes&) const = default;
};

struct PositionAttributes {
  std::int64_t sequence = 1; ///< consecutive rows that form a sequence
  bool operator==(const PositionAttributes&) const = default;
};

/// Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021. As in Hugging
/// Face's models, elements i and i + head_dim / 2 of a head form a pair. Position t of a sequence
/// rotates the pair by t * theta^(-2 * i / head_dim).
struct RopeAttributes {
  std::int64_t sequence = 1, heads = 1, head_dim = 2;
  float theta = 10000.0f;
  bool operator==(const RopeAttributes&) const = default;
};

/// softmax(q * k^T / sqrt(head_dim)) * v for each head: Vaswani et al. 2017. Groups of heads /
/// kv_heads neighbouring heads share k and v: Ainslie et al., "GQA", 2023. `sequence`: rows of each
/// sequence in q, k and v; cached_attention has earlier rows too.
struct AttentionAttributes {
  std::int64_t sequence = 1, heads = 1, kv_heads = 1, head_dim = 1;
  bool operator==(const AttentionAttributes&) const = default;
};

struct FinalizeAttributes {
  float eps = 1e-5f, momentum = 0.1f; ///< as BatchNormAttributes
  std::int64_t count = 0;             ///< summed values per channel
  DType type = DType::f32;            ///< of factor and offset: type of their consumer
  bool also_f32 = false;              ///< also outputs factor and offset in f32
  bool copies = false; ///< also outputs scale and shift unchanged: other units cannot read
                       ///< parameters
  bool operator==(const FinalizeAttributes&) const = default;
};

struct ScaleShiftAttributes {
  bool relu = false;
  bool mask = false; ///< as BatchNormAttributes
  bool operator==(const ScaleShiftAttributes&) const = default;
};

/// Hendrycks & Gimpel, "Gaussian Error Linear Units", 2016.
struct GeluAttributes {
  /// Computes the approximation y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
  bool tanh = false;
  bool operator==(const GeluAttributes&) const = default;
};

/// Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", 2014.
struct DropoutAttributes {
  float rate = 0.1f; ///< probability that an element becomes 0, in [0, 1); the others are divided
                     ///< by 1 - rate
  std::int32_t place = 0; ///< index among the model's dropouts: each draws different numbers
  bool operator==(const DropoutAttributes&) const = default;
};

struct SubsamplePadAttributes {
  std::int64_t stride = 2, pad_before = 0, pad_after = 0;
  bool operator==(const SubsamplePadAttributes&) const = default;
};

struct LossAttributes {
  float label_smoothing = 0.0f; ///< only softmax_cross_entropy
  /// Divisor of sums over rows; 0: the number of rows with a label.
  double rows = 0;
  bool gradient = false; ///< only softmax_cross_entropy: outputs dlogits, not probabilities
  bool correct = false;  ///< with gradient: also outputs the result of count_correct
  bool loss = false;     ///< only linear_cross_entropy_backward: also outputs the loss
  bool operator==(const LossAttributes&) const = default;
};

using Attributes =
    std::variant<std::monostate, Conv2dAttributes, BatchNormAttributes, FinalizeAttributes,
                 ScaleShiftAttributes, PoolAttributes, SubsamplePadAttributes, LossAttributes,
                 GeluAttributes, LayerNormAttributes, RmsNormAttributes, PositionAttributes,
                 RopeAttributes, AttentionAttributes, DropoutAttributes, MatmulAttributes>;

/// Returns the fusion of layer_norm, rms_norm or one of their gradients; null for other attributes.
inline const NormFusion* norm_fusion(const Attributes& attributes) {
  if (const auto* const layer = std::get_if<LayerNormAttributes>(&attributes))
    return &layer->fusion;
  const auto* const rms = std::get_if<RmsNormAttributes>(&attributes);
  return rms ? &rms->fusion : nullptr;
}

} // namespace troupe
