/// A copy of a rank's state when it was last equal on all ranks. The job can resume from it while
/// each rank trains by itself.
#pragma once

#include "core/device/device.hpp"

#include <vector>

namespace troupe::training {

class StateBase {
public:
  /// Adds `bytes` at `live` to the state. Errors: out_of_memory.
  Status add(Device& device, void* live, std::size_t bytes, MemoryKind kind);
  /// Enqueues a copy of the live state, unless the ranks voted against it (Device::gate_updates).
  void keep(Device& device, Stream& stream) const;
  /// Enqueues: restores the live state from the copy.
  void restore(Device& device, Stream& stream) const;

private:
  struct Part {
    void* live;
    BufferPtr kept;
    std::size_t bytes;
  };
  std::vector<Part> parts_;
};

} // namespace troupe::training
