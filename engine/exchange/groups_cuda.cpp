#include "groups_cuda.hpp"

#include "troupe/collectives/shared_device/cuda_communicator.hpp"
#include "troupe/core/fail.hpp"

#include <cstring>
#include <future>
#include <numeric>
#include <set>

namespace troupe::engine {

namespace {

std::shared_ptr<gpu::CudaDevice> gpu_of(const Replica& replica) {
  return std::static_pointer_cast<gpu::CudaDevice>(replica.equipment->device);
}

bool one_each(std::span<Replica* const> replicas) {
  std::set<int> gpus;
  for (const auto* replica : replicas)
    gpus.insert(replica->device().info().index);
  return gpus.size() == replicas.size();
}

Result<Communicators> share_memory(std::span<Replica* const> replicas, const GpuGroup& group) {
  std::vector<std::shared_ptr<gpu::CudaDevice>> devices;
  devices.reserve(replicas.size());
  for (const auto* replica : replicas)
    devices.push_back(gpu_of(*replica));
  return collectives::make_shared_cuda_group(devices, group.collective);
}

} // namespace

Result<Communicators> GpuGroups::share(std::span<Replica* const> replicas, const GpuGroup& group) {
  if (group.apart || !one_each(replicas))
    return share_memory(replicas, group);
  std::vector<int> ranks(static_cast<std::size_t>(group.world_size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return connect(replicas, ranks, group);
}

Result<Communicators> GpuGroups::connect(std::span<Replica* const> replicas,
                                         std::span<const int> ranks, const GpuGroup& group) {
  if (group.apart)
    return fail(Errc::unsupported,
                "CUDA workers of several nodes cannot synchronize batch norm yet; set "
                "model.sync_batch_norm to false");
  if (!one_each(replicas))
    return fail(Errc::unsupported,
                "workers of several nodes need a GPU each: NCCL has no two ranks "
                "on one; lower devices.count to the GPUs there are");
  const auto first = owner(*replicas.front());
  if (!first)
    return failure(first.error());
  const auto id = agree_on_id((*first)->library(), ranks.front() == 0, group);
  if (!id)
    return failure(id.error());
  std::vector<std::future<Result<std::unique_ptr<collectives::Communicator>>>> connecting;
  connecting.reserve(replicas.size());
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const auto own = owner(*replicas[i]);
    if (!own)
      return failure(own.error());
    connecting.push_back(
        std::async(std::launch::async, [owner = *own, rank = ranks[i], &id, &group] {
          return collectives::connect_nccl(owner, {.rank = rank,
                                                   .world_size = group.world_size,
                                                   .id = *id,
                                                   .buffers = {},
                                                   .timeout = group.collective,
                                                   .connect_timeout = group.connect});
        }));
  }
  Result<Communicators> connected;
  for (auto& each : connecting) {
    auto communicator = each.get();
    if (!communicator)
      connected = failure(communicator.error());
    else if (connected)
      connected->push_back(std::move(*communicator));
  }
  return connected;
}

Result<std::shared_ptr<collectives::NcclOwner>> GpuGroups::owner(const Replica& replica) {
  auto& owner = owners_[replica.device().info().index];
  if (!owner) {
    auto created = collectives::NcclOwner::create(gpu_of(replica));
    if (!created)
      return failure(created.error());
    owner = std::move(*created);
  }
  return owner;
}

/// The group's first rank makes it; those of other processes find it in the store.
Result<collectives::NcclId> GpuGroups::agree_on_id(const collectives::NcclLibrary& library,
                                                   bool first, const GpuGroup& group) {
  const auto key = "nccl/" + group.name;
  if (first) {
    auto id = collectives::make_nccl_id(library);
    if (id && group.store)
      TROUPE_TRY(group.store->put(key, {id->begin(), id->end()}));
    return id;
  }
  const auto bytes = group.store->wait(key, group.connect);
  if (!bytes)
    return failure(bytes.error());
  collectives::NcclId id = {};
  std::memcpy(id.data(), bytes->data(), std::min(id.size(), bytes->size()));
  return id;
}

} // namespace troupe::engine
