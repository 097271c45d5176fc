/// Pooling of NHWC images, dtype f32, f16 or bf16. Backward gathers: every input pixel sums the
/// windows that cover it, in order, so results are bitwise repeatable.
#pragma once

#include "core/graph/graph.hpp"
#include "core/host_and_device.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace troupe::gpu {

/// x is (batch, x_height, x_width, channels), y (batch, y_height, y_width, channels).
struct PoolShape {
  int batch, x_height, x_width, y_height, y_width, channels;
  PoolAttributes attributes;
  DType dtype;
};

/// `index`: position in the window, as i32 like in the graph, or as u8, which is a quarter of the
/// memory traffic. The first of equal values wins; a NaN is propagated.
void launch_max_pool(cudaStream_t stream, const PoolShape& shape, const void* x, void* y,
                     void* index, DType index_type);
/// Max pooling of relu(x * factor + offset), factor and offset per channel: the result of a batch
/// norm and ReLU before the pooling, which are then not stored. A window has at most 256 positions.
void launch_normalized_max_pool(cudaStream_t stream, const PoolShape& shape, const void* x,
                                const float* factor, const float* offset, void* y,
                                std::uint8_t* index);
void launch_max_pool_backward(cudaStream_t stream, const PoolShape& shape, const void* dy,
                              const void* index, DType index_type, void* dx);
/// Averages exclude padding.
void launch_avg_pool(cudaStream_t stream, const PoolShape& shape, const void* x, void* y);
void launch_avg_pool_backward(cudaStream_t stream, const PoolShape& shape, const void* dy,
                              void* dx);

/// A range of indices, [begin, end).
struct IndexRange {
  int begin, end;
};

/// Returns the pixels, on an axis of `length`, that output position `place` reads.
TROUPE_HOST_DEVICE inline IndexRange window_pixels(int place, int kernel, int stride, int padding,
                                                   int length) {
  const int first = place * stride - padding, last = first + kernel;
  return {first > 0 ? first : 0, last < length ? last : length};
}

/// Returns the output positions, on an axis of `outputs`, whose window contains pixel `place`.
TROUPE_HOST_DEVICE inline IndexRange covering_windows(int place, int kernel, int stride,
                                                      int padding, int outputs) {
  const int from = place + padding - kernel + 1;
  const int first = from > 0 ? (from + stride - 1) / stride : 0;
  const int last = (place + padding) / stride + 1;
  return {first, last < outputs ? last : outputs};
}

} // namespace troupe::gpu
