/// Prevents kernels from changing the training state after a failed wait for the host, or unless
/// all ranks have prepared the step.
#pragma once

#include <cstdint>

namespace troupe::gpu {

/// The number of ranks that have everything a step needs, summed by a collective. An aborted
/// collective leaves a smaller number.
struct UpdateVotes {
  const float* votes = nullptr; ///< in device memory; null: no votes needed
  float needed = 0;
};

/// A stream numbers its waits. Work after a wait is in the device's queue before the wait's outcome
/// is known, so the kernels themselves read the outcome. Kernels before the wait run to completion,
/// even if it fails meanwhile.
struct UpdateGate {
  /// Number of the stream's first failed wait; 0: none failed. A word of host memory that the
  /// device reads. Null: all preceding waits ended without error.
  const std::uint32_t* failed = nullptr;
  std::uint32_t last = 0; ///< number of the last preceding wait
  UpdateVotes votes = {};
};

} // namespace troupe::gpu
