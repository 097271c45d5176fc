/// Labels of rows, some of which are ignored.
#pragma once

#include "gpu/kernels/detail/reduce.cuh"

namespace troupe::gpu {

/// How many labels are not ignored. Every thread of the block gets it.
template <int Threads>
__device__ int counted_labels(const std::int32_t* labels, int rows) {
  int count = 0;
  for (int row = threadIdx.x; row < rows; row += Threads)
    count += labels[row] >= 0 ? 1 : 0;
  return block_sum<Threads>(count);
}

} // namespace troupe::gpu
