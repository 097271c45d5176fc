/// Attention of a sequence's next rows to all earlier rows, whose keys and values are cached in
/// f32. Heads may share keys and values; dtype f32, f16 or bf16; sums are f32, in a fixed order.
/// Semantics: core/graph/ops.def.
#pragma once

#include "gpu/kernels/attention.hpp"

namespace troupe::gpu {

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
