/// How kernels ask their gate.
#pragma once

#include "gpu/kernels/update_gate.hpp"

namespace troupe::gpu {

/// The same for all threads of a block, which all have to ask. One of them reads the word, which
/// lies in the host's memory.
__device__ inline bool is_closed(const UpdateGate& gate) {
  if (gate.votes.votes && *gate.votes.votes != gate.votes.needed)
    return true;
  if (!gate.failed)
    return false;
  __shared__ std::uint32_t failed;
  if (threadIdx.x == 0)
    failed = __ldcv(gate.failed); // no cache may answer
  __syncthreads();
  return failed != 0 && failed <= gate.last;
}

} // namespace troupe::gpu
