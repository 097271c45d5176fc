/// How max pooling's index is stored.
#pragma once

#include "core/graph/graph.hpp"

namespace troupe::gpu {

/// Nobody but the backward pass reads the index: in bytes, where they can count the window's
/// positions, it is a quarter of the traffic, and the place that the graph gives it (i32) is large
/// enough.
inline DType pool_index_type(const PoolAttributes& window) {
  return window.kernel_h * window.kernel_w <= 256 ? DType::u8 : DType::i32;
}
inline DType pool_index_type(const Node& node) {
  return pool_index_type(std::get<PoolAttributes>(node.attributes));
}

} // namespace troupe::gpu
