/// What keeps kernels from changing the training state behind a wait for the host that has failed.
#pragma once

#include <cstdint>

namespace troupe::gpu {

/// A stream numbers its waits. Work that stands behind one is in the device's queue before anybody
/// knows how the wait ends, so the kernels themselves ask. Those in front of it run whole, even if
/// it fails meanwhile.
struct UpdateGate {
  /// The number of the stream's first wait that failed; 0: none did. A word of the host that the
  /// device reads. Null: no wait is in front whose end is not known.
  const std::uint32_t* failed = nullptr;
  std::uint32_t last = 0; ///< the number of the last wait in front
};

} // namespace troupe::gpu
