/// Shapes of tensors for the pooling kernels, and the storage type of max pooling's index.
#pragma once

#include "gpu/kernels/pooling.hpp"

namespace troupe::gpu {

/// x: the pooled images; y: the pooling's result.
inline PoolShape pool_shape(const PoolAttributes& attributes, const Tensor& x, const Tensor& y) {
  return {.batch = static_cast<int>(x.shape[0]),
          .x_height = static_cast<int>(x.shape[1]),
          .x_width = static_cast<int>(x.shape[2]),
          .y_height = static_cast<int>(y.shape[1]),
          .y_width = static_cast<int>(y.shape[2]),
          .channels = static_cast<int>(x.shape[3]),
          .attributes = attributes,
          .dtype = x.dtype};
}

/// Only the backward pass reads the index. u8 suffices for a window of at most 256 positions and is
/// a quarter of the traffic; it fits into the memory that the graph plans for i32.
inline DType pool_index_type(const PoolAttributes& window) {
  return window.kernel_h * window.kernel_w <= 256 ? DType::u8 : DType::i32;
}
inline DType pool_index_type(const Node& node) {
  return pool_index_type(std::get<PoolAttributes>(node.attributes));
}

} // namespace troupe::gpu
