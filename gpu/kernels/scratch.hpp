/// Scratch memory of reductions over blocks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::gpu {

/// Every block writes its partial sums. The last one to finish adds them up in a fixed order, so
/// results are bitwise repeatable. Only one kernel at a time may use a scratch.
struct ReductionScratch {
  /// Limits: blocks per kernel, and values that each block leaves.
  static constexpr std::size_t blocks = 1024, floats_per_block = 256;
  static constexpr std::size_t partial_bytes = blocks * floats_per_block * sizeof(float);
  static constexpr std::size_t bytes = partial_bytes + blocks * sizeof(std::uint32_t);

  float* partials = nullptr;         ///< 256-byte aligned
  std::uint32_t* counters = nullptr; ///< one per block, 0 between kernels

  /// Places a scratch in `bytes` bytes of zeroed device memory.
  static ReductionScratch in(std::byte* memory) {
    return {reinterpret_cast<float*>(memory),
            reinterpret_cast<std::uint32_t*>(memory + partial_bytes)};
  }
};

} // namespace troupe::gpu
