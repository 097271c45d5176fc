/// What keeps kernels from changing the training state behind a wait for the host that has failed,
/// or without the votes of all ranks.
#pragma once

#include <cstdint>

namespace troupe::gpu {

/// How many ranks have all that a step needs, as a collective has summed it up: one that was
/// aborted leaves fewer.
struct UpdateVotes {
  const float* votes = nullptr; ///< in device memory; null: nobody is asked
  float needed = 0;
};

/// A stream numbers its waits. Work that stands behind one is in the device's queue before anybody
/// knows how the wait ends, so the kernels themselves ask. Those in front of it run whole, even if
/// it fails meanwhile.
struct UpdateGate {
  /// The number of the stream's first wait that failed; 0: none did. A word of the host that the
  /// device reads. Null: no wait is in front whose end is not known.
  const std::uint32_t* failed = nullptr;
  std::uint32_t last = 0; ///< the number of the last wait in front
  UpdateVotes votes = {};
};

} // namespace troupe::gpu
