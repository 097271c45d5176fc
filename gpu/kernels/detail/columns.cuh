/// Work distribution of kernels over (rows, channels), and sums over their rows.
///
/// A thread handles Width channels and iterates over rows. A block has threads_x threads along the
/// channels (a group) and 256 / threads_x along the rows. blockIdx.x counts groups, blockIdx.y the
/// blocks along the rows.
#pragma once

#include "gpu/kernels/detail/pack.cuh"
#include "gpu/kernels/detail/reduce.cuh"
#include "gpu/kernels/scratch.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe::gpu {

/// Threads of a block, and most of them along the channels.
inline constexpr int column_threads = 256, most_threads_x = 16;

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

/// Chooses at most about `blocks_wanted` blocks, with at least four rows per thread. If that number
/// is a constant, sums are the same on every device.
inline ColumnLaunch spread(std::int64_t rows, std::int64_t channels, int width, int blocks_wanted) {
  const auto packs = static_cast<int>((channels + width - 1) / width);
  int threads_x = 2;
  while (threads_x < packs && threads_x < most_threads_x)
    threads_x *= 2;
  const int groups = (packs + threads_x - 1) / threads_x;
  const std::int64_t rows_of_block = 4 * (column_threads / threads_x);
  const auto row_blocks = std::clamp<std::int64_t>((rows + rows_of_block - 1) / rows_of_block, 1,
                                                   std::max(1, blocks_wanted / groups));
  return {{rows, static_cast<int>(channels), threads_x},
          dim3(static_cast<unsigned>(groups), static_cast<unsigned>(row_blocks))};
}

/// About four blocks for each of 132 multiprocessors, or three of kernels that have more than 64
/// registers: all of them run at once.
inline constexpr int reduction_blocks = 512, large_reduction_blocks = 384;

/// Most channels that sum_columns may get: no more groups than blocks.
inline constexpr std::int64_t most_channels_of_sums(int width) {
  return std::int64_t{reduction_blocks} * most_threads_x * width;
}

/// Blocks along the rows in one stripe. A thread that adds up their partial sums reads at most
/// `Width` of their rows, and can have all of them in flight at once.
inline constexpr unsigned stripe_blocks = 32;
static_assert(reduction_blocks <= static_cast<int>(stripe_blocks * stripe_blocks));

// The stripes' rows of doubles follow all blocks' rows of floats. Only a group with more blocks
// than a stripe has such rows, so at most two for that many blocks.
static_assert(reduction_blocks + 2 * 2 * reduction_blocks / static_cast<int>(stripe_blocks) <=
              static_cast<int>(ReductionScratch::blocks));

/// Loads past the first-level cache: other blocks wrote the values.
__device__ inline void load_written(const float* from, double (&to)[4]) {
  const float4 values = __ldcg(reinterpret_cast<const float4*>(from));
  to[0] = values.x, to[1] = values.y, to[2] = values.z, to[3] = values.w;
}
__device__ inline void load_written(const double* from, double (&to)[4]) {
  const double2 low = __ldcg(reinterpret_cast<const double2*>(from));
  const double2 high = __ldcg(reinterpret_cast<const double2*>(from) + 1);
  to[0] = low.x, to[1] = low.y, to[2] = high.x, to[3] = high.y;
}

/// Shared memory for adding rows of `values` numbers: at most one number per thread.
struct RowSums {
  double segments[column_threads][4];
  double totals[column_threads];
};

/// Writes the sums of `count` rows, at most a stripe's, to shared.totals. Each thread reads four
/// values; segments of threads take the rows in turn.
template <int Width, class T>
__device__ void add_rows(const T* rows, int count, int values, RowSums& shared) {
  const int quads = values / 4, segments = column_threads / quads;
  const int quad = threadIdx.x % quads, segment = threadIdx.x / quads;
  double sums[4] = {};
#pragma unroll
  for (int k = 0; k < Width; ++k)
    if (const int row = segment + k * segments; row < count) {
      double part[4];
      load_written(rows + row * values + quad * 4, part);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[i] += part[i];
    }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    shared.segments[threadIdx.x][i] = sums[i];
  __syncthreads();
  const int value = threadIdx.x;
  double total = 0;
  if (value < values)
    for (int s = 0; s < std::min(segments, count); ++s)
      total += shared.segments[s * quads + value / 4][value % 4];
  shared.totals[value] = total;
  __syncthreads();
}

/// Sums two values per channel over all rows. Every thread of the grid calls it; in the last block
/// of a group it calls finish(channel, sum of a, sum of b) once per channel.
///
/// Order of summation: threads of a warp that share channels, then warps, then in double the blocks
/// of a stripe, then stripes. The last block of a stripe sums it while other stripes are still at
/// work; the last block of all sums the few stripes.
template <int Width, class Finish>
__device__ void sum_columns(const Columns& columns, float (&a)[Width], float (&b)[Width],
                            const ReductionScratch& scratch, Finish finish) {
  constexpr int warps = column_threads / 32, most_values = 2 * most_threads_x * Width;
  __shared__ union {
    float warp[warps][most_values];
    RowSums rows;
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
  // For this group: one row of `values` floats per block.
  float* const partials =
      scratch.partials + static_cast<std::size_t>(blockIdx.x) * gridDim.y * values;
  if (static_cast<int>(threadIdx.x) < values) {
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < warps; ++warp)
      sum += shared.warp[warp][threadIdx.x];
    partials[static_cast<std::size_t>(blockIdx.y) * values + threadIdx.x] = sum;
  }

  const unsigned stripes = (gridDim.y + stripe_blocks - 1) / stripe_blocks;
  const unsigned stripe = blockIdx.y / stripe_blocks, first = stripe * stripe_blocks;
  const unsigned left = gridDim.y - first, blocks = left < stripe_blocks ? left : stripe_blocks;
  if (!is_last_block(scratch.counters + blockIdx.x * stripes + stripe, blocks))
    return;
  add_rows<Width>(partials + static_cast<std::size_t>(first) * values, blocks, values, shared.rows);
  if (stripes > 1) {
    // For this group: one row of doubles per stripe.
    double* const sums =
        reinterpret_cast<double*>(scratch.partials +
                                  static_cast<std::size_t>(gridDim.x) * gridDim.y * values) +
        static_cast<std::size_t>(blockIdx.x) * stripes * values;
    if (static_cast<int>(threadIdx.x) < values)
      sums[static_cast<std::size_t>(stripe) * values + threadIdx.x] =
          shared.rows.totals[threadIdx.x];
    if (!is_last_block(scratch.counters + gridDim.x * stripes + blockIdx.x, stripes))
      return;
    add_rows<Width>(sums, stripes, values, shared.rows);
  }
  const int channel = static_cast<int>(blockIdx.x) * group_channels + threadIdx.x;
  if (static_cast<int>(threadIdx.x) < group_channels && channel < columns.channels)
    finish(channel, shared.rows.totals[threadIdx.x],
           shared.rows.totals[group_channels + threadIdx.x]);
}

} // namespace troupe::gpu
