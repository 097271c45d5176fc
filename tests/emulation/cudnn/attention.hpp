/// Recognizes attention, which cuDNN's engines take only as the operations that NVIDIA's
/// cudnn-frontend builds, in its order.
#pragma once

#include "tests/emulation/cudnn/graph.hpp"

#include <optional>

namespace emulation::cudnn {

struct AttentionGraph {
  bool backward, deterministic;
  Type type; ///< of q, k, v and y
  std::int64_t batch, heads, sequence, head_dim;
};
/// Returns nothing for a graph that is not attention, or whose tensors the engines do not take:
/// f32, large heads or heads whose size is no multiple of 8, and, for backward, statistics with
/// gaps, which the engines before cuDNN 9.26 read as if they had none.
std::optional<AttentionGraph> attention_of(const Graph& graph);

} // namespace emulation::cudnn
