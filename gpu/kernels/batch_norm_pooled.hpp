/// The backward pass of relu(batch norm) that a max pooling has read: the pooling's gradient is
/// gathered on the way, and that of the batch norm's result is neither stored nor read.
#pragma once

#include "gpu/kernels/batch_norm.hpp"
#include "gpu/kernels/pooling.hpp"

namespace troupe::gpu {

/// dy and index have the pooling's shape, x and dx the images' before it; by channel the rest.
struct PooledBatchNormBackward {
  const void* dy = nullptr;
  const std::uint8_t* index = nullptr;
  const void* x = nullptr;
  /// Of the forward pass (launch_normalized_max_pool): where relu clipped is found again.
  const float *factor = nullptr, *offset = nullptr;
  const float *scale = nullptr, *mean = nullptr, *inv_std = nullptr;
  void* dx = nullptr;
  float *dscale = nullptr, *dshift = nullptr;
};

/// Two launches: the sums, then dx. Shape and dtype are those of images (batch_norm.hpp has
/// limits).
void launch_pooled_batch_norm_backward(cudaStream_t stream, const PoolShape& shape,
                                       const PooledBatchNormBackward& arguments,
                                       const ReductionScratch& scratch);

} // namespace troupe::gpu
