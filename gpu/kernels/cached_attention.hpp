/// Attention of a sequence's next rows to all before them, whose keys and values are cached in f32.
/// Heads that share keys and values; dtype f32, f16 or bf16; sums are f32, in a fixed order.
/// Semantics: core/graph/ops.def.
#pragma once

#include "gpu/kernels/attention.hpp"

namespace troupe::gpu {

struct CachedAttention {
  const void *q = nullptr, *k = nullptr, *v = nullptr; ///< as Attention has them
  float *keys = nullptr, *values = nullptr;            ///< (sequences, kv_heads, places, head_dim)
  const std::int32_t* first = nullptr;                 ///< place of every sequence's first row
  std::int64_t places = 0;
  void* y = nullptr;
};
/// Two launches: rows become cached ones, then they attend. A row that there is no place for is not
/// cached, and gives NaNs.
void launch_cached_attention(cudaStream_t stream, const AttentionShape& shape,
                             const CachedAttention& arguments);

} // namespace troupe::gpu
