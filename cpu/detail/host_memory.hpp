/// Memory of the host device.
#pragma once

#include "core/device/device.hpp"
#include "core/device/memory_account.hpp"

#include <memory>

namespace troupe::cpu {

/// Allocates zeroed, 64-byte aligned memory; large buffers use huge pages if the system has them.
Result<BufferPtr> allocate_host(std::size_t bytes, MemoryKind kind,
                                std::shared_ptr<MemoryAccount> account);

/// Returns a buffer that is counted in the account but has no memory. Its address is aligned and
/// must not be read or written.
BufferPtr count_host(std::size_t bytes, MemoryKind kind, std::shared_ptr<MemoryAccount> account);

} // namespace troupe::cpu
