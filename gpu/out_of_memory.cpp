#include "out_of_memory.hpp"

#include "troupe/core/device/memory_account.hpp"

#include <fmt/format.h>

namespace troupe::gpu {

namespace {

/// The settings that make this kind smaller.
std::string_view advice(MemoryKind kind) {
  switch (kind) {
  case MemoryKind::parameters:
  case MemoryKind::gradients:
  case MemoryKind::optimizer:
    return "a sharded parallel.strategy (zero1, zero2, fsdp) on more devices, or a smaller "
           "data.batch_size";
  case MemoryKind::activations:
  case MemoryKind::workspace:
    return "a smaller data.batch_size, a larger train.accumulate, or precision.mode amp_bf16 or "
           "amp_fp16";
  case MemoryKind::data:
    return "data.residency host, or a smaller data.batch_size";
  case MemoryKind::pinned:
    return "a smaller parallel.offload.ratio";
  case MemoryKind::communication:
    return "a smaller parallel.bucket_size, parallel.prefetch or parallel.max_units_alive";
  }
  return "a smaller data.batch_size";
}

} // namespace

Error out_of_memory(std::size_t asked, MemoryKind kind, int device, std::size_t free_bytes,
                    std::size_t total_bytes, const MemoryUse& use) {
  return {Errc::out_of_memory,
          fmt::format("CUDA device {} has no room for {} ({} bytes) of {}: {} of {} are free, and "
                      "this process holds {}. What helps: {}",
                      device, describe_bytes(asked), asked, to_string(kind),
                      describe_bytes(free_bytes), describe_bytes(total_bytes), describe(use),
                      advice(kind))};
}

} // namespace troupe::gpu
