#include "gpu/out_of_memory.hpp"

#include "core/device/memory_account.hpp"
#include "core/device/memory_advice.hpp"

#include <fmt/format.h>

namespace troupe::gpu {

Error out_of_memory(std::size_t asked, MemoryKind kind, int device, std::size_t free_bytes,
                    std::size_t total_bytes, const MemoryUse& use) {
  return {Errc::out_of_memory,
          fmt::format("CUDA device {} cannot allocate {} ({} bytes) of {}: {} of {} are free, and "
                      "this process holds {}; try {}",
                      device, describe_bytes(asked), asked, to_string(kind),
                      describe_bytes(free_bytes), describe_bytes(total_bytes), describe(use),
                      settings_that_help(kind))};
}

} // namespace troupe::gpu
