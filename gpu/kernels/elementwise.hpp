/// Element-wise ops over activations of one dtype (f32, f16, bf16), NHWC. Semantics:
/// core/graph/ops.def. relu, gelu, their gradients and bias may run in place.
#pragma once

#include "core/device/dropout_math.hpp"
#include "core/graph/tensor.hpp"
#include "core/host_and_device.hpp"
#include "gpu/kernels/scratch.hpp"

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace troupe::gpu {

/// Keeps NaN.
void launch_relu(cudaStream_t stream, DType dtype, const void* x, void* y, std::size_t elements);
/// dx = dy where y > 0, else 0.
void launch_relu_backward(cudaStream_t stream, DType dtype, const void* dy, const void* y, void* dx,
                          std::size_t elements);

/// A value and its derivative.
struct Gate {
  float value, slope;
};
/// Returns gelu's factor of x: the cumulative distribution function of the normal distribution, or
/// with `tanh` Hendrycks & Gimpel's approximation. 1 / (1 + e^(-2 * u)) equals (1 + tanh(u)) / 2;
/// for |x| >= 30 it is 0 or 1.
TROUPE_HOST_DEVICE inline Gate gelu_gate(float x, bool tanh) {
  if (!tanh)
    return {0.5f * erfcf(-0.707106781f * x), 0.398942280f * expf(-0.5f * x * x)};
  constexpr float twice_factor = 1.59576912f, cubic = 0.044715f; // 2 * sqrt(2 / pi)
  const float near = x < -30 ? -30 : x > 30 ? 30 : x, square = near * near;
  const float value = 1 / (1 + expf(-twice_factor * near * (1 + cubic * square)));
  return {value, value * (1 - value) * twice_factor * (1 + 3 * cubic * square)};
}
/// y = x * gate.
void launch_gelu(cudaStream_t stream, DType dtype, const void* x, void* y, std::size_t elements,
                 bool tanh);
void launch_gelu_backward(cudaStream_t stream, DType dtype, const void* dy, const void* x, void* dx,
                          std::size_t elements, bool tanh);

/// gate * sigmoid(gate) and its derivative (Shazeer, "GLU Variants Improve Transformer", 2020).
TROUPE_HOST_DEVICE inline Gate swish(float gate) {
  const float sigmoid = 1 / (1 + expf(-gate));
  return {gate * sigmoid, sigmoid * (1 + gate * (1 - sigmoid))};
}
/// y = swish(gate) * up; y may be gate or up.
void launch_swiglu(cudaStream_t stream, DType dtype, const void* gate, const void* up, void* y,
                   std::size_t elements);
void launch_swiglu_backward(cudaStream_t stream, DType dtype, const void* dy, const void* gate,
                            const void* up, void* dgate, void* dup, std::size_t elements);

/// y = x + bias, (rows, columns); bias: f32 (columns).
void launch_bias(cudaStream_t stream, DType dtype, const void* x, const float* bias, void* y,
                 std::int64_t rows, std::int64_t columns);
/// dbias (columns) = sum of dy over rows, in f32 and in a fixed order.
void launch_bias_backward(cudaStream_t stream, DType dtype, const void* dy, float* dbias,
                          std::int64_t rows, std::int64_t columns, const ReductionScratch& scratch);

/// Shapes of a subsampling. y has every stride-th pixel of x (N, H, W, C), and pad_before +
/// x_channels + pad_after channels.
struct SubsampleShape {
  int batch, x_height, x_width, x_channels, y_height, y_width, y_channels, stride, pad_before;
};
void launch_subsample_pad(cudaStream_t stream, DType dtype, const void* x, void* y,
                          const SubsampleShape& shape);
void launch_subsample_pad_backward(cudaStream_t stream, DType dtype, const void* dy, void* dx,
                                   const SubsampleShape& shape);

/// Dropout of samples of one size. core/device/dropout_math.hpp defines the dropped elements and
/// the form of the keys. y may be x. Samples whose size is a multiple of 16 bytes, aligned to 16
/// bytes, are fast.
void launch_dropout(cudaStream_t stream, DType dtype, const DropoutRule& rule,
                    const std::int32_t* keys, std::size_t samples, std::size_t of_sample,
                    const void* x, void* y);

} // namespace troupe::gpu
