#include "gpu_claims.hpp"

#include "troupe/core/fail.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <tuple>

namespace troupe::engine {

namespace {

std::string key_of(const GroupPlace& place, int rank) {
  return fmt::format("gpu/{}/{}", place.name, rank);
}

/// "GPU-... 10.0.0.2:7401"
std::string claim(const GpuMember& member, const GroupPlace& place) {
  return member.device->info().id + ' ' + place.node;
}

struct Claim {
  std::string gpu, node;
};

Result<Claim> claim_of(int rank, const GroupPlace& place) {
  TROUPE_TRY(const auto bytes, place.store->wait(key_of(place, rank), place.connect));
  const std::string text{bytes.begin(), bytes.end()};
  const auto end = text.find(' ');
  return Claim{text.substr(0, end), text.substr(end + 1)};
}

} // namespace

Status check_one_gpu_each(std::span<const GpuMember> members, const GroupPlace& place) {
  for (const auto& member : members) {
    const auto text = claim(member, place);
    TROUPE_TRY(place.store->put(key_of(place, member.rank), {text.begin(), text.end()}));
  }
  std::map<std::string, std::pair<int, std::string>> owners; // rank and node, by GPU
  for (int rank = 0; rank < place.world_size; ++rank) {
    TROUPE_TRY(const auto claimed, claim_of(rank, place));
    const auto [owner, first] = owners.try_emplace(claimed.gpu, rank, claimed.node);
    if (!first)
      return fail(Errc::unsupported,
                  "ranks {} (node {}) and {} (node {}) have one GPU, {}: NCCL wants one for each "
                  "rank; show each daemon GPUs of its own (CUDA_VISIBLE_DEVICES), and lower "
                  "devices.count to how many there are",
                  owner->second.first, owner->second.second, rank, claimed.node, claimed.gpu);
  }
  return {};
}

} // namespace troupe::engine
