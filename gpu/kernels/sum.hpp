/// Sums over several buffers, for ranks that share a device or can access each other's.
#pragma once

#include "core/graph/tensor.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace troupe::gpu {

/// Passed by value as a kernel argument.
struct SumSources {
  static constexpr int most = 16;

  const void* data[most] = {};
  int count = 0;
};

/// sum[i] = data[0][i] + data[1][i] + ..., in that order. f16 and bf16 are summed in f32 and
/// rounded once; integers wrap. `sum` may be one of the sources. All addresses are memory of this
/// device or of one that it can access; 16-byte aligned memory is several times faster.
void launch_sum(cudaStream_t stream, DType type, const SumSources& sources, void* sum,
                std::size_t elements);

} // namespace troupe::gpu
