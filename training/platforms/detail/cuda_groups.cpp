#include "training/platforms/detail/cuda_groups.hpp"

#include "collectives/shared_device/cuda_communicator.hpp"
#include "core/fail.hpp"
#include "training/platforms/detail/common.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <span>

namespace troupe::training {

namespace {

bool one_each(std::span<const GpuMember> members) {
  std::set<int> gpus;
  for (const auto& member : members)
    gpus.insert(member.device->info().index);
  return gpus.size() == members.size();
}

Result<Communicators> share_memory(std::span<const GpuMember> members, const GroupPlace& place) {
  std::vector<std::shared_ptr<gpu::CudaDevice>> devices;
  devices.reserve(members.size());
  for (const auto& member : members)
    devices.push_back(member.device);
  return collectives::make_shared_cuda_group(devices, place.collective);
}

/// Refuses groups that NCCL between nodes does not support.
Status check_between_nodes(const GroupPlace& place) {
  if (place.apart)
    return fail(Errc::unsupported,
                "CUDA workers of several nodes cannot synchronize batch norm yet; set "
                "model.sync_batch_norm to false");
  return {};
}

/// Whether NCCL copies between GPUs of one process through its own buffers. Only reads the
/// variable: NCCL reads it once, and setenv() is not safe while other threads run.
bool copies_through_buffers() {
  const char* const set = std::getenv("NCCL_P2P_DIRECT_DISABLE");
  return set && std::strtol(set, nullptr, 0) != 0;
}

/// Opens the GPUs' memory to each other. NCCL's kernels directly access buffers on other GPUs of
/// their process. Buffers are in pools, which other GPUs cannot access until they are opened.
/// Between GPUs that cannot reach each other, NCCL copies through the host's memory.
Status open_memory(std::span<const GpuMember> members, std::span<const int> readers) {
  if (copies_through_buffers())
    return {};
  for (const auto& member : members)
    for (const int reader : readers) {
      if (!member.device->reachable_from(reader))
        continue;
      if (const auto opened = member.device->open_memory_to(reader); !opened)
        return fail(Errc::unsupported,
                    "{}; NCCL would access it anyway: set NCCL_P2P_DIRECT_DISABLE=1 in the "
                    "environment, so that NCCL copies through its buffers",
                    opened.error().message);
    }
  return {};
}

struct Agreement {
  collectives::NcclId id = {};
  std::vector<int> gpus = {}; ///< indices of this process's GPUs that have a rank of the group
};

/// Creates the id on the node with the group's first rank; other nodes receive it.
Result<Agreement> agree(const collectives::NcclLibrary& library, std::span<const GpuMember> members,
                        const GroupPlace& place) {
  Agreement made;
  if (members.front().rank == 0) {
    TROUPE_TRY(made.id, collectives::make_nccl_id(library));
  }
  if (!place.connection_group) {
    for (const auto& member : members)
      made.gpus.push_back(member.device->info().index);
    return made;
  }
  TROUPE_TRY(const auto claims, exchange_claims(members, place, made.id));
  TROUPE_TRY(check_one_gpu_each(claims));
  return Agreement{claims.front().id, gpus_of_this_process(claims)};
}

} // namespace

Result<Communicators> GpuGroups::make(std::span<const GpuMember> members, const GroupPlace& place) {
  if (place.connection_group)
    TROUPE_TRY(check_between_nodes(place));
  else if (place.apart || !one_each(members))
    return share_memory(members, place);
  return connect(members, place);
}

Result<Communicators> GpuGroups::connect(std::span<const GpuMember> members,
                                         const GroupPlace& place) {
  std::vector<std::shared_ptr<collectives::NcclOwner>> owners;
  for (const auto& member : members) {
    TROUPE_TRY(auto own, owner(member));
    owners.push_back(std::move(own));
  }
  TROUPE_TRY(const auto agreed, agree(owners.front()->library(), members, place));
  // Before this process joins: NCCL makes its first call once every rank has joined.
  TROUPE_TRY(open_memory(members, agreed.gpus));
  return connect_all(members.size(), [&](std::size_t index) {
    return collectives::connect_nccl(owners[index], {.rank = members[index].rank,
                                                     .world_size = place.world_size,
                                                     .id = agreed.id,
                                                     .buffers = {},
                                                     .timeout = place.collective,
                                                     .connect_timeout = place.connect});
  });
}

Result<std::shared_ptr<collectives::NcclOwner>> GpuGroups::owner(const GpuMember& member) {
  auto& known = owners_[member.device->info().index];
  if (auto owner = known.lock())
    return owner;
  TROUPE_TRY(auto created, collectives::NcclOwner::create(member.device));
  std::shared_ptr<collectives::NcclOwner> owner = std::move(created);
  known = owner;
  return owner;
}

} // namespace troupe::training
