/// Layer norm and RMS norm over the last dimension, also fused with the additions and casts around
/// them (core/graph/op.hpp, NormFusion). RMS norm is layer norm with mean and shift 0. Any shape
/// and any types f32, f16 and bf16 are supported. Fast: aligned rows of a multiple of 8 columns, at
/// most 16384 (backward: 8192), where x is f32 and the other types are f32 or one narrower type, or
/// where all types are the same. All sums are f32 and bitwise repeatable.
#pragma once

#include "core/graph/tensor.hpp"
#include "core/host_and_device.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace troupe::gpu {

struct LayerNormShape {
  std::int64_t rows = 0, columns = 0;
  DType x = DType::f32;     ///< also of sum, dx and the other gradient
  DType y = DType::f32;     ///< also of dy
  DType other = DType::f32; ///< of the addend; backward: of the narrow dx
};

struct LayerNorm {
  const void* x = nullptr;
  const void* addend = nullptr; ///< null: none
  void* sum = nullptr;          ///< x + addend, which is normalized; may be x
  void* y = nullptr;
  /// (columns); RMS norm has no shift.
  const float *scale = nullptr, *shift = nullptr;
  /// (rows); RMS norm has no saved_mean.
  float *saved_mean = nullptr, *saved_inv_std = nullptr;
  float eps = 1e-5f;
};
/// y = (x - mean)·inv_std·scale + shift for each row. y may be x if they have the same type.
void launch_layer_norm(cudaStream_t stream, const LayerNormShape& shape,
                       const LayerNorm& arguments);

struct LayerNormBackward {
  const void *dy = nullptr, *x = nullptr;
  const void* other = nullptr; ///< another part of the gradient, which is added to dx; null: none
  void* dx = nullptr;          ///< may be other, and an input of the same type
  void* narrow = nullptr;      ///< dx in f16 or bf16, if x is f32; null: not written
  const float* scale = nullptr;
  const float *mean = nullptr,
              *inv_std = nullptr;             ///< (rows), saved by forward; RMS norm has no mean
  float *dscale = nullptr, *dshift = nullptr; ///< (columns); RMS norm has no dshift
};
/// Returns the bytes of partial sums that the launch needs.
std::size_t layer_norm_backward_bytes(const LayerNormShape& shape);
/// Two launches: dx with each block's sums of dscale and dshift, then the sums over blocks.
/// `partials`: layer_norm_backward_bytes bytes.
void launch_layer_norm_backward(cudaStream_t stream, const LayerNormShape& shape,
                                const LayerNormBackward& arguments, float* partials);

/// Returns dx of one element, for host and CUDA code: inv_std·(g - mean(g) - h·mean(g·h)) with h =
/// (x - mean)·inv_std and g = dy·scale. Ba, Kiros & Hinton 2016.
TROUPE_HOST_DEVICE inline float layer_norm_gradient(float g, float h, float inv_std, float mean_g,
                                                    float mean_gh) {
  return inv_std * (g - mean_g - h * mean_gh);
}

} // namespace troupe::gpu
