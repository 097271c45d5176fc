/// How kernels over (rows, channels) are spread, and sums over their rows.
///
/// A thread keeps to Width channels and goes through rows. A block is threads_x threads along the
/// channels (a group of them) and 256 / threads_x along the rows; blockIdx.x counts groups,
/// blockIdx.y shares of the rows.
#pragma once

#include "../scratch.hpp"
#include "pack.cuh"
#include "reduce.cuh"

#include <algorithm>
#include <cstdint>

namespace troupe::gpu {

inline constexpr int column_threads = 256;

struct Columns {
  std::int64_t rows;
  int channels, threads_x;

  __device__ int threads_y() const { return column_threads / threads_x; }
  __device__ int first_channel(int width) const {
    return (static_cast<int>(blockIdx.x) * threads_x + static_cast<int>(threadIdx.x) % threads_x) *
           width;
  }
  __device__ std::int64_t first_row() const {
    return static_cast<std::int64_t>(blockIdx.y) * threads_y() + threadIdx.x / threads_x;
  }
  __device__ std::int64_t row_stride() const {
    return static_cast<std::int64_t>(gridDim.y) * threads_y();
  }
};

struct ColumnLaunch {
  Columns columns;
  dim3 blocks;
};

/// About `blocks_wanted` blocks, but at least four rows a thread. Depends on the shape alone, so
/// that sums are the same on every device.
inline ColumnLaunch spread(std::int64_t rows, std::int64_t channels, int width, int blocks_wanted) {
  const auto packs = static_cast<int>((channels + width - 1) / width);
  int threads_x = 2;
  while (threads_x < packs && threads_x < 16)
    threads_x *= 2;
  const int groups = (packs + threads_x - 1) / threads_x;
  const std::int64_t rows_of_block = 4 * (column_threads / threads_x);
  const auto row_blocks = std::clamp<std::int64_t>((rows + rows_of_block - 1) / rows_of_block, 1,
                                                   std::max(1, blocks_wanted / groups));
  return {{rows, static_cast<int>(channels), threads_x},
          dim3(static_cast<unsigned>(groups), static_cast<unsigned>(row_blocks))};
}

/// About four blocks, and sixteen, for each of 132 multiprocessors.
inline constexpr int reduction_blocks = 512, element_blocks = 2112;

/// Adds up two values per channel over all rows. Called by every thread of the grid; in the last
/// block of a group, finish(channel, sum of a, sum of b) is called once per channel.
///
/// Order: threads of a warp that share channels, warps, then blocks in segments, in double.
template <int Width, class Finish>
__device__ void sum_columns(const Columns& columns, float (&a)[Width], float (&b)[Width],
                            const ReductionScratch& scratch, Finish finish) {
  constexpr int warps = column_threads / 32, most_values = 2 * 16 * Width;
  __shared__ union {
    float warp[warps][most_values];
    double segment[column_threads][4];
  } shared;
  const int group_channels = columns.threads_x * Width, values = 2 * group_channels;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < Width; ++i)
    for (int offset = columns.threads_x; offset < 32; offset *= 2) {
      a[i] += __shfl_xor_sync(all_lanes, a[i], offset);
      b[i] += __shfl_xor_sync(all_lanes, b[i], offset);
    }
  if (lane < columns.threads_x)
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      shared.warp[threadIdx.x / 32][lane * Width + i] = a[i];
      shared.warp[threadIdx.x / 32][group_channels + lane * Width + i] = b[i];
    }
  __syncthreads();
  // Of this group: one row of `values` floats for every block.
  float* const partials =
      scratch.partials + static_cast<std::size_t>(blockIdx.x) * gridDim.y * values;
  if (static_cast<int>(threadIdx.x) < values) {
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < warps; ++warp)
      sum += shared.warp[warp][threadIdx.x];
    partials[static_cast<std::size_t>(blockIdx.y) * values + threadIdx.x] = sum;
  }
  if (!is_last_block(scratch.counters + blockIdx.x, gridDim.y))
    return;

  // Four values a thread; the blocks are dealt out to segments of threads.
  const int quads = values / 4, segments = column_threads / quads;
  const int quad = threadIdx.x % quads, segment = threadIdx.x / quads;
  double sums[4] = {};
#pragma unroll 8
  for (unsigned block = segment; block < gridDim.y; block += segments) {
    const float4 part = __ldcg(reinterpret_cast<const float4*>(
        partials + static_cast<std::size_t>(block) * values + quad * 4));
    sums[0] += part.x;
    sums[1] += part.y;
    sums[2] += part.z;
    sums[3] += part.w;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    shared.segment[threadIdx.x][i] = sums[i];
  __syncthreads();
  if (static_cast<int>(threadIdx.x) >= group_channels)
    return;
  const int channel = static_cast<int>(blockIdx.x) * group_channels + threadIdx.x;
  if (channel >= columns.channels)
    return;
  double total_a = 0, total_b = 0;
  for (int s = 0; s < segments; ++s) {
    const int at_a = threadIdx.x, at_b = group_channels + threadIdx.x;
    total_a += shared.segment[s * quads + at_a / 4][at_a % 4];
    total_b += shared.segment[s * quads + at_b / 4][at_b % 4];
  }
  finish(channel, total_a, total_b);
}

} // namespace troupe::gpu
