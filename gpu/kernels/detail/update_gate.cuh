/// Device code that reads an update gate.
#pragma once

#include "gpu/kernels/update_gate.hpp"

namespace troupe::gpu {

/// Whether the gate is closed. All threads of a block must call it and get the same result: one of
/// them reads the word, which is in host memory.
__device__ inline bool is_closed(const UpdateGate& gate) {
  if (gate.votes.votes && *gate.votes.votes != gate.votes.needed)
    return true;
  if (!gate.failed)
    return false;
  __shared__ std::uint32_t failed;
  if (threadIdx.x == 0)
    failed = __ldcv(gate.failed); // bypasses caches
  __syncthreads();
  return failed != 0 && failed <= gate.last;
}

} // namespace troupe::gpu
