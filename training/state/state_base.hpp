/// A copy of a rank's state where it last was that of all ranks: what others can go on from while
/// each trains by itself.
#pragma once

#include "core/device/device.hpp"

#include <vector>

namespace troupe::training {

class StateBase {
public:
  /// So many bytes at `live` are part of it. Errors: out_of_memory.
  Status add(Device& device, void* live, std::size_t bytes, MemoryKind kind);
  /// Enqueues: the state is this from now on, unless ranks have voted against it
  /// (Device::gate_updates).
  void keep(Device& device, Stream& stream) const;
  /// Enqueues: the live state is what was kept.
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
