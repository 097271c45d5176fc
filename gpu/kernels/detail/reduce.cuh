/// Sums over the threads of a block and over blocks, in a fixed order.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace troupe::gpu {

inline constexpr unsigned all_lanes = 0xffffffffu;

/// Returns the sum over `Lanes` neighbouring lanes of the warp to each of them.
template <int Lanes = 32, class T>
__device__ inline T warp_sum(T value) {
#pragma unroll
  for (int offset = Lanes / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(all_lanes, value, offset);
  return value;
}

template <int Lanes = 32>
__device__ inline float warp_max(float value) {
#pragma unroll
  for (int offset = Lanes / 2; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(all_lanes, value, offset));
  return value;
}

__device__ inline std::uint32_t warp_max(std::uint32_t value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const std::uint32_t other = __shfl_xor_sync(all_lanes, value, offset);
    value = other > value ? other : value;
  }
  return value;
}

/// Returns the sum over the block of `Threads` threads to every thread.
template <int Threads, class T>
__device__ inline T block_sum(T value) {
  __shared__ T warps[Threads / 32];
  value = warp_sum(value);
  __syncthreads(); // an earlier sum must have been read
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = value;
  __syncthreads();
  T total = 0;
#pragma unroll
  for (int warp = 0; warp < Threads / 32; ++warp)
    total += warps[warp];
  return total;
}

/// Returns the number of labels that are not negative (ignored) to every thread of the block.
template <int Threads>
__device__ int counted_labels(const std::int32_t* labels, int rows) {
  int count = 0;
  for (int row = threadIdx.x; row < rows; row += Threads)
    count += labels[row] >= 0 ? 1 : 0;
  return block_sum<Threads>(count);
}

/// Returns true to all threads of the last of `blocks` blocks that arrives. That block can read
/// what the others wrote before (past the first-level cache: __ldcg). Resets the counter to 0.
__device__ inline bool is_last_block(std::uint32_t* counter, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0)
    last = atomicInc(counter, blocks - 1) == blocks - 1;
  __syncthreads();
  if (last)
    __threadfence();
  return last;
}

} // namespace troupe::gpu
