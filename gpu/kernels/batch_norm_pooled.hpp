/// The backward pass of relu(batch norm) whose result max pooling read. It gathers the pooling's
/// gradient itself, so the gradient of the batch norm's result is neither stored nor read.
#pragma once

#include "gpu/kernels/batch_norm.hpp"
#include "gpu/kernels/pooling.hpp"

namespace troupe::gpu {

/// dy and index have the pooling's output shape; x and dx have its input shape; all else is per
/// channel.
struct PooledBatchNormBackward {
  const void* dy = nullptr;
  const std::uint8_t* index = nullptr;
  const void* x = nullptr;
  /// From the forward pass (launch_normalized_max_pool): recomputes relu's mask.
  const float *factor = nullptr, *offset = nullptr;
  const float *scale = nullptr, *mean = nullptr, *inv_std = nullptr;
  void* dx = nullptr;
  float *dscale = nullptr, *dshift = nullptr;
};

/// Two launches: the sums, then dx. Shape and dtype are those of the images (limits:
/// batch_norm.hpp).
void launch_pooled_batch_norm_backward(cudaStream_t stream, const PoolShape& shape,
                                       const PooledBatchNormBackward& arguments,
                                       const ReductionScratch& scratch);

} // namespace troupe::gpu
