/// Kernels in which a group of threads, whole warps, handles a row at a time.
#pragma once

#include "gpu/kernels/detail/pack.cuh"
#include "gpu/kernels/detail/reduce.cuh"

#include <algorithm>
#include <cstdint>

namespace troupe::gpu {

/// Columns that a thread of a fast kernel accesses at once: 16 bytes of a narrow type.
inline constexpr int row_width = 8;
/// Most threads of a group, and of a block.
inline constexpr int most_row_threads = 512;

/// Distribution of rows: each block has groups of `threads` threads.
struct RowGroups {
  int rows, columns, threads;

  __device__ int lane() const { return static_cast<int>(threadIdx.x) % threads; }
  __device__ int group() const { return static_cast<int>(threadIdx.x) / threads; }
  __device__ int groups() const { return static_cast<int>(blockDim.x) / threads; }

  /// The row of the thread's group, if each group of the grid has one. May be `rows` or more.
  __device__ int row() const { return static_cast<int>(blockIdx.x) * groups() + group(); }

  /// Calls work(row) for each row of the thread's group. All threads of a block make the same
  /// number of calls; in the last one, `row` may be `rows` or more.
  template <class Work>
  __device__ void each_row(Work work) const {
    const int in_block = groups(), own = group();
    for (int first = static_cast<int>(blockIdx.x) * in_block; first < rows;
         first += static_cast<int>(gridDim.x) * in_block)
      work(first + own);
  }

  /// Calls work(pack, column, index in the tensor) for the thread's packs of Width columns. `pack`
  /// counts from 0.
  template <int Width, int Packs, class Work>
  __device__ void each_pack(int row, Work work) const {
    const std::size_t first = static_cast<std::size_t>(row) * columns;
#pragma unroll
    for (int pack = 0; pack < Packs; ++pack)
      if (const int column = (pack * threads + lane()) * Width; column < columns && row < rows)
        work(pack, column, first + column);
  }
};

struct RowGroupLaunch {
  RowGroups groups;
  unsigned threads_of_block;
  int row_blocks; ///< blocks that give each group one row
};

/// Chooses groups in which each thread has at most `packs` packs of row_width columns, and blocks
/// of about `threads_wanted` threads.
inline RowGroupLaunch group_rows(std::int64_t rows, std::int64_t columns, int packs,
                                 int threads_wanted) {
  const auto of_warp = std::int64_t{32} * packs * row_width;
  const auto warps =
      std::clamp<std::int64_t>((columns + of_warp - 1) / of_warp, 1, most_row_threads / 32);
  const int threads = 32 * static_cast<int>(warps);
  const int groups = std::max(1, threads_wanted / threads);
  return {{static_cast<int>(rows), static_cast<int>(columns), threads},
          static_cast<unsigned>(groups * threads),
          static_cast<int>(std::max<std::int64_t>(1, (rows + groups - 1) / groups))};
}

/// Sums values over the threads of each group of a block.
class GroupSum {
public:
  __device__ explicit GroupSum(const RowGroups& groups) : warps_{groups.threads / 32} {}

  /// Returns the sums over the group to each of its threads. All threads of the block call it.
  __device__ float2 operator()(float a, float b) {
    // Two buffers alternate, so that one barrier per call suffices: before a buffer is written
    // again, all threads have passed the barrier of the call between.
    __shared__ float2 partial[2][most_row_threads / 32];
    float2 sum{warp_sum(a), warp_sum(b)};
    if (warps_ == 1)
      return sum;
    const int warp = static_cast<int>(threadIdx.x) / 32, first = warp / warps_ * warps_;
    if (threadIdx.x % 32 == 0)
      partial[turn_][warp] = sum;
    __syncthreads();
    sum = {0, 0};
    for (int i = first; i < first + warps_; ++i) {
      sum.x += partial[turn_][i].x;
      sum.y += partial[turn_][i].y;
    }
    turn_ ^= 1;
    return sum;
  }

  __device__ float operator()(float a) { return (*this)(a, 0.0f).x; }

private:
  int warps_, turn_ = 0;
};

/// Accesses of one element whose type is known only at run time.
__device__ inline float load_as(DType dtype, const void* from, std::size_t at) {
  if (dtype == DType::f16)
    return to_float(static_cast<const __half*>(from)[at]);
  if (dtype == DType::bf16)
    return to_float(static_cast<const __nv_bfloat16*>(from)[at]);
  return static_cast<const float*>(from)[at];
}
__device__ inline void store_as(DType dtype, void* to, std::size_t at, float value) {
  if (dtype == DType::f16)
    static_cast<__half*>(to)[at] = from_float<__half>(value);
  else if (dtype == DType::bf16)
    static_cast<__nv_bfloat16*>(to)[at] = from_float<__nv_bfloat16>(value);
  else
    static_cast<float*>(to)[at] = value;
}

} // namespace troupe::gpu
