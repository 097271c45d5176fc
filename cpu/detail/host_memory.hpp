/// Memory of the host device.
#pragma once

#include "core/device/device.hpp"
#include "core/device/memory_account.hpp"

#include <memory>

namespace troupe::cpu {

/// Zeroed, 64-byte aligned; large buffers lie on huge pages where the system has them.
Result<BufferPtr> allocate_host(std::size_t bytes, MemoryKind kind,
                                std::shared_ptr<MemoryAccount> account);

/// A buffer that is in the account and has no memory: its address is aligned, and must not be read
/// or written.
BufferPtr count_host(std::size_t bytes, MemoryKind kind, std::shared_ptr<MemoryAccount> account);

} // namespace troupe::cpu
