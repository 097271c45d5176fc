/// Sums over several buffers, for ranks that share a device or reach each other's.
#pragma once

#include "core/graph/tensor.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace troupe::gpu {

/// Passed by value, as a kernel's argument.
struct SumSources {
  static constexpr int most = 16;

  const void* data[most] = {};
  int count = 0;
};

/// sum[i] = data[0][i] + data[1][i] + ..., in that order. f16 and bf16 are summed in f32 and
/// rounded once; integers wrap. `sum` may be one of the sources. All device memory, of this device
/// or of one whose memory it reaches; aligned to 16 bytes it is several times faster.
void launch_sum(cudaStream_t stream, DType type, const SumSources& sources, void* sum,
                std::size_t elements);

} // namespace troupe::gpu
