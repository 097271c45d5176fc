/// The error for a device without enough memory.
#pragma once

#include "core/device/device.hpp"

namespace troupe::gpu {

/// Returns Errc::out_of_memory with the requested size, the memory in use by kind, the free memory,
/// and settings that help.
Error out_of_memory(std::size_t asked, MemoryKind kind, int device, std::size_t free_bytes,
                    std::size_t total_bytes, const MemoryUse& use);

} // namespace troupe::gpu
