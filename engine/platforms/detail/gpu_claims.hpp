/// Which ranks of a group have which GPUs, where they are on several nodes.
#pragma once

#include "../platform.hpp"

#include "troupe/gpu/cuda_device.hpp"

#include <memory>
#include <span>

namespace troupe::engine {

struct GpuMember {
  std::shared_ptr<gpu::CudaDevice> device;
  int rank = 0; ///< in the group
};

/// NCCL refuses two ranks on one GPU, and does not say on which nodes they are. All ranks tell the
/// others by the store, and every node gets the same answer. Errors: unsupported, with ranks and
/// nodes; network, when some rank does not come.
Status check_one_gpu_each(std::span<const GpuMember> members, const GroupPlace& place);

} // namespace troupe::engine
