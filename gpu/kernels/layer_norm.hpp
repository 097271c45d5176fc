/// Layer norm and RMS norm over the last dimension, dtype f32, f16 or bf16; all else is f32. RMS
/// norm is layer norm with mean and shift 0. Any shape is supported, up to 16384 columns; columns
/// in multiples of 16 bytes and 16-byte aligned tensors are fast. Sums are f32 and bitwise
/// repeatable.
#pragma once

#include "core/graph/tensor.hpp"
#include "core/host_and_device.hpp"
#include "gpu/kernels/scratch.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace troupe::gpu {

struct LayerNormShape {
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0;
};

struct LayerNorm {
  const void* x = nullptr;
  void* y = nullptr;
  /// (columns); RMS norm has no shift.
  const float *scale = nullptr, *shift = nullptr;
  /// (rows); RMS norm has no saved_mean.
  float *saved_mean = nullptr, *saved_inv_std = nullptr;
  float eps = 1e-5f;
};
/// y = (x - mean)·inv_std·scale + shift for each row. y may be x.
void launch_layer_norm(cudaStream_t stream, const LayerNormShape& shape,
                       const LayerNorm& arguments);

struct LayerNormBackward {
  const void *dy = nullptr, *x = nullptr;
  void* dx = nullptr; ///< may be dy or x
  const float* scale = nullptr;
  const float *mean = nullptr,
              *inv_std = nullptr;             ///< (rows), saved by forward; RMS norm has no mean
  float *dscale = nullptr, *dshift = nullptr; ///< (columns); RMS norm has no dshift
};
/// Two launches: the sums over rows, then dx.
void launch_layer_norm_backward(cudaStream_t stream, const LayerNormShape& shape,
                                const LayerNormBackward& arguments,
                                const ReductionScratch& scratch);

/// Returns dx of one element, for host and CUDA code: inv_std·(g - mean(g) - h·mean(g·h)) with h =
/// (x - mean)·inv_std and g = dy·scale. Ba, Kiros & Hinton 2016.
TROUPE_HOST_DEVICE inline float layer_norm_gradient(float g, float h, float inv_std, float mean_g,
                                                    float mean_gh) {
  return inv_std * (g - mean_g - h * mean_gh);
}

} // namespace troupe::gpu
