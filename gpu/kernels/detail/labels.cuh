/// Labels of rows; negative labels are ignored.
#pragma once

#include "gpu/kernels/detail/reduce.cuh"

namespace troupe::gpu {

/// Returns the number of labels that are not ignored to every thread of the block.
template <int Threads>
__device__ int counted_labels(const std::int32_t* labels, int rows) {
  int count = 0;
  for (int row = threadIdx.x; row < rows; row += Threads)
    count += labels[row] >= 0 ? 1 : 0;
  return block_sum<Threads>(count);
}

} // namespace troupe::gpu
