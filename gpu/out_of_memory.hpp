/// What to say when a device has no room.
#pragma once

#include "core/device/device.hpp"

namespace troupe::gpu {

/// Errc::out_of_memory: what was asked, what is in use by kind, what is free, which settings help.
Error out_of_memory(std::size_t asked, MemoryKind kind, int device, std::size_t free_bytes,
                    std::size_t total_bytes, const MemoryUse& use);

} // namespace troupe::gpu
