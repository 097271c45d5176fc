#include "core/device/memory_advice.hpp"

namespace troupe {

std::string_view settings_that_help(MemoryKind kind) {
  switch (kind) {
  case MemoryKind::parameters:
  case MemoryKind::gradients:
  case MemoryKind::optimizer:
    return "a sharded parallel.strategy (zero1, zero2, fsdp) on more devices, or a smaller model";
  case MemoryKind::activations:
  case MemoryKind::workspace:
    return "a smaller data.batch_size or data.eval_batch_size, a larger train.accumulate, "
           "train.recompute, or precision.mode amp_bf16 or amp_fp16";
  case MemoryKind::data:
    return "data.residency host, or a smaller data.batch_size";
  case MemoryKind::pinned:
    return "a smaller share of the state in parallel.offload";
  case MemoryKind::communication:
    return "a smaller parallel.bucket_size or parallel.prefetch";
  }
  return "a smaller data.batch_size";
}

Error before_first_step(Error error) {
  if (error.code != Errc::out_of_memory)
    return error;
  error.code = Errc::invalid_input;
  error.message = "not enough memory: " + error.message;
  return error;
}

} // namespace troupe
