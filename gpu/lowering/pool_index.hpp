/// How max pooling's index is stored.
#pragma once

#include "troupe/core/graph/graph.hpp"

namespace troupe::gpu {

/// Nobody but max_pool_backward reads the index: in bytes, where they can count the window's
/// positions, it is a quarter of the traffic, and the place that the graph gives it (i32) is large
/// enough.
inline DType pool_index_type(const Node& node) {
  const auto& window = std::get<PoolAttributes>(node.attributes);
  return window.kernel_h * window.kernel_w <= 256 ? DType::u8 : DType::i32;
}

} // namespace troupe::gpu
