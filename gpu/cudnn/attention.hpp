/// Causal attention as operation graphs: the patterns of cuDNN's engines for scaled dot-product
/// attention. The engines accept an operation graph only if operations, their order, and the types
/// of virtual tensors are those that NVIDIA's cudnn-frontend builds. docs/cudnn-patterns.md lists
/// the engines.
///
/// With scores S = scale * Q K^T for each head and P = softmax(mask(S)), forward computes P V and
/// the logarithms of the softmax's sums. Backward recomputes P from them (Dao et al.,
/// "FlashAttention", 2022).
#pragma once

#include "gpu/cudnn/detail/operation_graph.hpp"

namespace troupe::gpu::cudnn {

struct AttentionProblem {
  std::int64_t batch, heads, kv_heads, sequence, head_dim;
  /// Elements from one row to the next of q (and dq), and of k and v (and dk, dv).
  std::int64_t q_distance, kv_distance;
  float scale;
  cudnnDataType_t type; ///< f16 or bf16, of all tensors except log_sum_exp

  /// "8x1024, 12 heads of 64", or "8x1024, 32/4 heads of 64" if heads share keys and values.
  std::string to_string() const;
};

/// Uids of the tensors that the graphs read and write. q, k and v, and their gradients, may lie
/// side by side in one tensor. Rows of y and dy are heads * head_dim apart. log_sum_exp is f32,
/// (batch, heads, sequence) without gaps: before cuDNN 9.26, backward engines accept other strides
/// but do not read them correctly (cudnn-frontend refuses them).
namespace uid {
inline constexpr Uid attention_q = 101, attention_k = 102, attention_v = 103;
inline constexpr Uid attention_y = 104, attention_log_sum_exp = 105;
inline constexpr Uid attention_dy = 106;
inline constexpr Uid attention_dq = 107, attention_dk = 108, attention_dv = 109;
} // namespace uid

/// q, k, v -> y, log_sum_exp
OperationGraph attention_forward(const AttentionProblem& problem);

/// q, k, v, y, dy, log_sum_exp -> dq, dk, dv. If `deterministic`, the gradients of the scores pass
/// through memory of batch * heads * sequence^2 elements; else, blocks of keys add to dq in any
/// order.
OperationGraph attention_backward(const AttentionProblem& problem, bool deterministic);

} // namespace troupe::gpu::cudnn
