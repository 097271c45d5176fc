#include "training/platforms/detail/gpu_claims.hpp"

#include "collectives/tcp/tcp_communicator.hpp"
#include "core/fail.hpp"
#include "cpu/host_stream.hpp"

#include <fmt/format.h>

#include <future>
#include <map>
#include <random>
#include <string_view>
#include <utility>

namespace troupe::training {

namespace {

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

} // namespace

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

std::vector<int> gpus_of_this_process(std::span<const GpuClaim> claims) {
  std::vector<int> gpus;
  for (const auto& claim : claims)
    if (claim.process == this_process())
      gpus.push_back(claim.device);
  return gpus;
}

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

} // namespace troupe::training
