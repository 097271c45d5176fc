#include "training/platforms/detail/cuda_groups.hpp"

#include "collectives/shared_device/cuda_communicator.hpp"
#include "collectives/tcp/tcp_communicator.hpp"
#include "core/fail.hpp"
#include "cpu/host_stream.hpp"
#include "training/platforms/detail/common.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string_view>
#include <vector>

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

/// One rank's data, as it is sent. Text ends with a zero.
struct GpuClaim {
  std::array<char, 64> gpu = {}; ///< unique GPU identifier
  std::array<char, 256> node = {};
  collectives::NcclId id = {}; ///< of the group: rank 0's is used
  std::uint64_t process = 0;   ///< a random number, one for each process
  std::int32_t device = 0;     ///< the GPU's index in that process
};

using Claims = std::vector<GpuClaim>;

template <std::size_t N>
void write_text(std::array<char, N>& to, std::string_view text) {
  text.copy(to.data(), N - 1);
}

std::uint64_t this_process() {
  static const auto number = [] {
    std::random_device chance;
    return (std::uint64_t{chance()} << 32) | chance();
  }();
  return number;
}

/// Sends a rank's claim and returns all of them. Blocks until all ranks have sent theirs.
Result<Claims> tell(const GpuClaim& mine, int rank, const GroupPlace& place) {
  TROUPE_TRY(const auto communicator, collectives::connect_tcp({.member = rank,
                                                                .endpoints = place.endpoints,
                                                                .group = place.name + " claims",
                                                                .timeout = place.collective,
                                                                .connect_timeout = place.connect},
                                                               place.connection_group));
  Claims all(place.endpoints.size());
  auto claim = mine;
  cpu::HostStream stream{{.name = "claims"}};
  communicator->all_gather(stream, {&claim, sizeof claim, DType::u8}, all.data());
  TROUPE_TRY(stream.synchronize());
  return all;
}

/// Returns the claims of all ranks in rank order, on every node. `id`: the group's id, created on
/// rank 0's node. Precondition: place.connection_group is set. Error: network if a rank does not
/// connect.
Result<Claims> exchange_claims(std::span<const GpuMember> members, const GroupPlace& place,
                               const collectives::NcclId& id) {
  std::vector<std::future<Result<Claims>>> telling;
  for (const auto& member : members) {
    GpuClaim mine{.id = id, .process = this_process(), .device = member.device->info().index};
    write_text(mine.gpu, member.device->info().id);
    write_text(mine.node, place.node);
    telling.push_back(std::async(std::launch::async, [mine, rank = member.rank, &place] {
      return tell(mine, rank, place);
    }));
  }
  Claims claims;
  for (auto& each : telling) { // also waits for all of them before returning
    TROUPE_TRY(claims, each.get());
  }
  return claims;
}

/// Returns the indices of the GPUs with a rank in this process.
std::vector<int> gpus_of_this_process(std::span<const GpuClaim> claims) {
  std::vector<int> gpus;
  for (const auto& claim : claims)
    if (claim.process == this_process())
      gpus.push_back(claim.device);
  return gpus;
}

/// Checks that each rank has its own GPU. NCCL refuses two ranks on one GPU without naming their
/// nodes. Error: unsupported, with ranks and nodes; the higher rank is at fault.
Status check_one_gpu_each(std::span<const GpuClaim> claims) {
  std::map<std::string_view, std::size_t> owners; // rank, by GPU
  for (std::size_t rank = 0; rank < claims.size(); ++rank) {
    const auto& claim = claims[rank];
    const auto [owner, first] = owners.try_emplace(claim.gpu.data(), rank);
    if (!first)
      return failure({Errc::unsupported,
                      fmt::format("ranks {} (node {}) and {} (node {}) share the GPU {}, but NCCL "
                                  "needs one for each rank; give each daemon different GPUs "
                                  "(CUDA_VISIBLE_DEVICES), and lower devices.count to their number",
                                  owner->second, claims[owner->second].node.data(), rank,
                                  claim.node.data(), claim.gpu.data()),
                      {.node = claim.node.data()}});
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
  if (place.connection_group && place.apart)
    return fail(Errc::unsupported,
                "CUDA workers of several nodes cannot synchronize batch norm yet; set "
                "model.sync_batch_norm to false");
  if (!place.connection_group && (place.apart || !one_each(members)))
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
