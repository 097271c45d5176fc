/// The storage type of max pooling's index.
#pragma once

#include "core/graph/graph.hpp"

namespace troupe::gpu {

/// Only the backward pass reads the index. u8 suffices for a window of at most 256 positions and is
/// a quarter of the traffic; it fits into the memory that the graph plans for i32.
inline DType pool_index_type(const PoolAttributes& window) {
  return window.kernel_h * window.kernel_w <= 256 ? DType::u8 : DType::i32;
}
inline DType pool_index_type(const Node& node) {
  return pool_index_type(std::get<PoolAttributes>(node.attributes));
}

} // namespace troupe::gpu
