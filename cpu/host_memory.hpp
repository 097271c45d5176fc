/// Memory of the host device, and the account of who uses how much of it.
#pragma once

#include "troupe/core/device.hpp"

#include <memory>
#include <mutex>

namespace troupe::cpu {

/// What a device has handed out. Outlives the device as long as one of its buffers does.
class MemoryAccount {
public:
  void add(MemoryKind kind, std::size_t bytes);
  void remove(MemoryKind kind, std::size_t bytes);
  MemoryUse use() const;

private:
  mutable std::mutex mutex_;
  MemoryUse use_;
};

/// Zeroed, 64-byte aligned; large buffers lie on huge pages where the system has them.
Result<BufferPtr> allocate_host(std::size_t bytes, MemoryKind kind,
                                std::shared_ptr<MemoryAccount> account);

} // namespace troupe::cpu
