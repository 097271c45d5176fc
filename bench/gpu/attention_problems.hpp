/// Attention of language models, for which plans are probed.
#pragma once

#include "gpu/cudnn/attention.hpp"

#include <cmath>
#include <vector>

namespace troupe::bench {

/// `in_one`: q, k and v lie side by side in one tensor, as in GPT-2.
inline gpu::cudnn::AttentionProblem attention_problem(std::int64_t batch, std::int64_t heads,
                                                      std::int64_t kv_heads, std::int64_t sequence,
                                                      std::int64_t head_dim, bool in_one,
                                                      cudnnDataType_t type) {
  const auto q = heads * head_dim, kv = kv_heads * head_dim, all = q + 2 * kv;
  return {.batch = batch,
          .heads = heads,
          .kv_heads = kv_heads,
          .sequence = sequence,
          .head_dim = head_dim,
          .q_distance = in_one ? all : q,
          .kv_distance = in_one ? all : kv,
          .scale = 1 / std::sqrt(static_cast<float>(head_dim)),
          .type = type};
}

/// GPT-2 124M and 1558M; LLaMA 1B, whose heads share keys and values, and 7B; other sizes of heads
/// and lengths, also not multiples of a tile.
inline std::vector<gpu::cudnn::AttentionProblem> probed_attention(cudnnDataType_t type) {
  return {
      attention_problem(8, 12, 12, 1024, 64, true, type),
      attention_problem(4, 25, 25, 1024, 64, true, type),
      attention_problem(4, 32, 4, 2048, 64, false, type),
      attention_problem(2, 32, 32, 2048, 128, false, type),
      attention_problem(4, 8, 8, 1000, 48, false, type),
      attention_problem(4, 8, 8, 1000, 80, true, type),
      attention_problem(4, 8, 4, 1024, 96, false, type),
      attention_problem(2, 4, 2, 13, 16, true, type),
  };
}

} // namespace troupe::bench
