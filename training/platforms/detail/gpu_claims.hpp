/// Data that ranks of several nodes exchange before NCCL connects them.
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

/// One rank's data, as it is sent. Text ends with a zero.
struct GpuClaim {
  std::array<char, 64> gpu = {}; ///< unique GPU identifier
  std::array<char, 256> node = {};
  collectives::NcclId id = {}; ///< of the group: rank 0's is used
  std::uint64_t process = 0;   ///< a random number, one for each process
  std::int32_t device = 0;     ///< the GPU's index in that process
};

/// Returns the claims of all ranks in rank order, on every node. `id`: the group's id, created on
/// rank 0's node. Precondition: place.connection_group is set. Error: network if a rank does not
/// connect.
Result<std::vector<GpuClaim>> exchange_claims(std::span<const GpuMember> members,
                                              const GroupPlace& place,
                                              const collectives::NcclId& id);

/// Returns the indices of the GPUs with a rank in this process.
std::vector<int> gpus_of_this_process(std::span<const GpuClaim> claims);

/// Checks that each rank has its own GPU. NCCL refuses two ranks on one GPU without naming their
/// nodes. Error: unsupported, with ranks and nodes; the higher rank is at fault.
Status check_one_gpu_each(std::span<const GpuClaim> claims);

} // namespace troupe::training
