/// Causal attention in tiles, with heads that share keys and values. The matrix of scores is never
/// in device memory, so memory use of both directions is proportional to the sequence (Dao et al.,
/// "FlashAttention", 2022). dtype f32, f16 or bf16; products and sums are f32, in a fixed order.
/// Semantics: core/graph/ops.def.
#pragma once

#include "core/graph/op.hpp"
#include "core/graph/tensor.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace troupe::gpu {

struct AttentionShape {
  static constexpr std::int64_t most_head_dim = 128;

  AttentionAttributes attributes;
  DType dtype = DType::f32;
  std::int64_t sequences = 0;
  /// Elements from one row to the next, for q, and for k and v. Their gradients have the same
  /// distance; rows of y and dy are heads * head_dim apart.
  std::int64_t q_distance = 0, kv_distance = 0;

  std::int64_t rows() const { return sequences * attributes.sequence; }
};

struct Attention {
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  void* y = nullptr;
  float* log_sum_exp = nullptr; ///< (sequences, heads, sequence)
};
void launch_causal_attention(cudaStream_t stream, const AttentionShape& shape,
                             const Attention& arguments);

struct AttentionBackward {
  const void *dy = nullptr, *q = nullptr, *k = nullptr, *v = nullptr, *y = nullptr;
  const float* log_sum_exp = nullptr; ///< as saved by forward
  float* means = nullptr;             ///< (rows, heads): scratch memory
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
};
/// Three launches: the means, then dq, then dk and dv.
void launch_causal_attention_backward(cudaStream_t stream, const AttentionShape& shape,
                                      const AttentionBackward& arguments);

/// Attention of a sequence's next rows to all earlier rows, whose keys and values are cached in
/// f32.
struct CachedAttention {
  const void *q = nullptr, *k = nullptr, *v = nullptr; ///< as in Attention
  float *keys = nullptr, *values = nullptr;            ///< (sequences, kv_heads, places, head_dim)
  const std::int32_t* first = nullptr; ///< cache position of every sequence's first row
  std::int64_t places = 0;
  void* y = nullptr;
};
/// Two launches: the first caches the rows, the second computes attention. A row without a place in
/// the cache is not cached and gives NaNs.
void launch_cached_attention(cudaStream_t stream, const AttentionShape& shape,
                             const CachedAttention& arguments);

} // namespace troupe::gpu
