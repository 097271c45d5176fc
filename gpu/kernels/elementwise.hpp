/// Element-wise ops over activations of one dtype (f32, f16, bf16), NHWC. Semantics:
/// core/ops.def. relu, relu_backward and bias may run in place.
#pragma once

#include "troupe/core/tensor.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace troupe::gpu {

/// A NaN stays.
void launch_relu(cudaStream_t stream, DType dtype, const void* x, void* y, std::size_t elements);
/// dx = dy where y > 0, else 0.
void launch_relu_backward(cudaStream_t stream, DType dtype, const void* dy, const void* y, void* dx,
                          std::size_t elements);

/// y = x + bias, (rows, columns); bias: f32 (columns).
void launch_bias(cudaStream_t stream, DType dtype, const void* x, const float* bias, void* y,
                 std::int64_t rows, std::int64_t columns);
/// dbias (columns) = sum of dy over rows, in f32 and in a fixed order.
void launch_bias_backward(cudaStream_t stream, DType dtype, const void* dy, float* dbias,
                          std::int64_t rows, std::int64_t columns);

/// Shapes of a subsampling: y has every stride-th pixel of x (N, H, W, C), and pad_before +
/// x_channels + pad_after channels.
struct SubsampleShape {
  int batch, x_height, x_width, x_channels, y_height, y_width, y_channels, stride, pad_before;
};
void launch_subsample_pad(cudaStream_t stream, DType dtype, const void* x, void* y,
                          const SubsampleShape& shape);
void launch_subsample_pad_backward(cudaStream_t stream, DType dtype, const void* dy, void* dx,
                                   const SubsampleShape& shape);

} // namespace troupe::gpu
