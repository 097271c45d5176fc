/// Shapes of tensors for the pooling kernels.
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

} // namespace troupe::gpu
