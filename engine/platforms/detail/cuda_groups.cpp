#include "cuda_groups.hpp"

#include "common.hpp"

#include "troupe/collectives/shared_device/cuda_communicator.hpp"
#include "troupe/core/fail.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <span>

namespace troupe::engine {

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

/// NCCL between nodes: what it does not do yet, or never.
Status check_between_nodes(const GroupPlace& place) {
  if (place.apart)
    return fail(Errc::unsupported,
                "CUDA workers of several nodes cannot synchronize batch norm yet; set "
                "model.sync_batch_norm to false");
  return {};
}

/// NCCL's kernels read and write buffers of GPUs of their process directly, and the buffers lie in
/// pools, which are closed to other GPUs until they are opened. Where one cannot be opened, NCCL is
/// told to copy through buffers of its own instead. It reads the variable with the first group.
void open_memory(std::span<const GpuMember> members) {
  for (const auto& owner : members)
    for (const auto& reader : members)
      if (!owner.device->open_memory_to(*reader.device)) {
        ::setenv("NCCL_P2P_DIRECT_DISABLE", "1", 0); // NOLINT(concurrency-mt-unsafe): while forming
        return;
      }
}

/// The node that has the group's first rank makes it; the others hear of it.
Result<collectives::NcclId> agree_on_id(const collectives::NcclLibrary& library,
                                        std::span<const GpuMember> members,
                                        const GroupPlace& place) {
  collectives::NcclId id = {};
  if (members.front().rank == 0) {
    TROUPE_TRY(id, collectives::make_nccl_id(library));
  }
  if (!place.meeting)
    return id;
  TROUPE_TRY(const auto claims, exchange_claims(members, place, id));
  TROUPE_TRY(check_one_gpu_each(claims));
  return claims.front().id;
}

} // namespace

Result<Communicators> GpuGroups::make(std::span<const GpuMember> members, const GroupPlace& place) {
  if (place.meeting)
    TROUPE_TRY(check_between_nodes(place));
  else if (place.apart || !one_each(members))
    return share_memory(members, place);
  return connect(members, place);
}

Result<Communicators> GpuGroups::connect(std::span<const GpuMember> members,
                                         const GroupPlace& place) {
  open_memory(members);
  std::vector<std::shared_ptr<collectives::NcclOwner>> owners;
  for (const auto& member : members) {
    TROUPE_TRY(auto own, owner(member));
    owners.push_back(std::move(own));
  }
  const auto id = agree_on_id(owners.front()->library(), members, place);
  if (!id)
    return failure(id.error());
  std::vector<std::future<Result<std::unique_ptr<collectives::Communicator>>>> connecting;
  connecting.reserve(members.size());
  for (std::size_t i = 0; i < members.size(); ++i)
    connecting.push_back(
        std::async(std::launch::async, [owner = owners[i], rank = members[i].rank, &id, &place] {
          return collectives::connect_nccl(owner, {.rank = rank,
                                                   .world_size = place.world_size,
                                                   .id = *id,
                                                   .buffers = {},
                                                   .timeout = place.collective,
                                                   .connect_timeout = place.connect});
        }));
  return all_of(connecting);
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

} // namespace troupe::engine
