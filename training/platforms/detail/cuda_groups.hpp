/// Communicators of workers on GPUs.
#pragma once

#include "collectives/nccl/nccl_communicator.hpp"
#include "gpu/cuda_device.hpp"
#include "training/platforms/platform.hpp"

#include <map>
#include <memory>
#include <span>

namespace troupe::training {

struct GpuMember {
  std::shared_ptr<gpu::CudaDevice> device;
  int rank = 0; ///< in the group
};

class GpuGroups {
public:
  /// Creates communicators in the order of `members`. Uses NCCL. If all ranks are in this process
  /// and two share a GPU, which NCCL refuses, or the group is apart, uses the GPUs' memory instead.
  /// Blocks until all are connected. Errors: unsupported (two ranks on one GPU), collective,
  /// network.
  Result<Communicators> make(std::span<const GpuMember> members, const GroupPlace& place);

private:
  Result<Communicators> connect(std::span<const GpuMember> members, const GroupPlace& place);
  Result<std::shared_ptr<collectives::NcclOwner>> owner(const GpuMember& member);

  /// By GPU; each lives as long as a communicator uses it.
  std::map<int, std::weak_ptr<collectives::NcclOwner>> owners_;
};

} // namespace troupe::training
