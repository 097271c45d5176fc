/// What ranks of several nodes tell each other before NCCL connects them.
#pragma once

#include "collectives/nccl/nccl_communicator.hpp"
#include "gpu/cuda_device.hpp"
#include "training/platforms/platform.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe::training {

struct GpuMember {
  std::shared_ptr<gpu::CudaDevice> device;
  int rank = 0; ///< in the group
};

/// Of one rank, as it travels; text ends with a zero.
struct GpuClaim {
  std::array<char, 64> gpu = {}; ///< its number, which no other GPU has
  std::array<char, 256> node = {};
  collectives::NcclId id = {}; ///< of the group: rank 0's counts
  std::uint64_t process = 0;   ///< a random number, one a process
  std::int32_t device = 0;     ///< the GPU's index in that process
};

/// Those of all ranks, in their order, on every node. `id`: of the group, from the node that has
/// rank 0. Requires place.meeting. Error: network, when some rank does not come.
Result<std::vector<GpuClaim>> exchange_claims(std::span<const GpuMember> members,
                                              const GroupPlace& place,
                                              const collectives::NcclId& id);

/// The indices of the GPUs that have a rank in this process, on whichever node of it.
std::vector<int> gpus_of_this_process(std::span<const GpuClaim> claims);

/// NCCL refuses two ranks on one GPU, and does not say on which nodes they are. Error: unsupported,
/// with ranks and nodes; the one with the higher rank is at fault.
Status check_one_gpu_each(std::span<const GpuClaim> claims);

} // namespace troupe::training
