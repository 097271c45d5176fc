#include "training/shard_replicas.hpp"

#include "core/config/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace troupe::training {

namespace {

/// By rank: the name of the host or node that it would be lost with.
using Places = std::vector<std::string>;

Places places_of(const GenerationRecord& generation, std::string MemberInfo::*place) {
  Places places;
  for (const auto& node : generation.nodes)
    places.insert(places.end(), static_cast<std::size_t>(node.workers), node.*place);
  return places;
}

int least_distance(const Places& places) {
  for (std::size_t distance = 1; distance < places.size(); ++distance) {
    bool apart = true;
    for (std::size_t rank = 0; apart && rank < places.size(); ++rank)
      apart = places[rank] != places[(rank + distance) % places.size()];
    if (apart)
      return static_cast<int>(distance);
  }
  return 0;
}

} // namespace

ShardReplicas shard_replicas_of(const ParallelConfig& parallel, const Strategy& strategy,
                                const GenerationRecord& generation) {
  const ShardReplicas none{.distance = 0, .world_size = strategy.world_size};
  if (parallel.replicate_shards == ReplicateShards::off || strategy.shards < 2 ||
      strategy.copies() > 1 ||
      strategy.has_replica_groups()) // replaying a step does not cover DiLoCo's outer steps
    return none;
  const auto hosts = places_of(generation, &MemberInfo::host);
  const bool one_host =
      std::ranges::adjacent_find(hosts, std::ranges::not_equal_to{}) == hosts.end();
  const auto places = one_host ? places_of(generation, &MemberInfo::address) : hosts;
  return {.distance = least_distance(places), .world_size = strategy.world_size};
}

bool lies_apart(const Strategy& strategy, const GenerationRecord& generation) {
  return std::ranges::any_of(generation.nodes, [&](const MemberInfo& node) {
    return node.workers > 0 && node.workers < strategy.shards;
  });
}

bool outlives_a_node(const Strategy& strategy, const ShardReplicas& shard_replicas,
                     const GenerationRecord& generation) {
  if (generation.nodes.size() == 1)
    return true; // a joining node loads the whole state from this one
  std::vector<std::set<std::size_t>> nodes_of(static_cast<std::size_t>(strategy.shards));
  for (int rank = 0; rank < strategy.world_size; ++rank) {
    auto& nodes = nodes_of[static_cast<std::size_t>(strategy.shard_of(rank))];
    nodes.insert(generation.index_of(rank));
    if (shard_replicas)
      nodes.insert(generation.index_of(shard_replicas.replica_rank_of(rank)));
  }
  return std::ranges::all_of(nodes_of, [](const auto& nodes) { return nodes.size() > 1; });
}

std::string lacks_copies(const ParallelConfig& parallel, const GenerationRecord& generation) {
  const auto strategy = strategy_of(parallel, generation.world_size());
  const auto shard_replicas = shard_replicas_of(parallel, strategy, generation);
  if (outlives_a_node(strategy, shard_replicas, generation))
    return {};
  std::string_view why = "one host has more than half of the workers";
  if (parallel.replicate_shards == ReplicateShards::off)
    why = "parallel.replicate_shards is off";
  else if (strategy.has_replica_groups() && strategy.replica_groups() == 1)
    why = "there is no other replica group to keep a copy";
  else if (strategy.copies() > 1)
    why = "all workers that hold some part of it are on one node";
  return fmt::format(
      "{} divides the state, and {}: if a node is lost, the job resumes from the last checkpoint",
      to_string(parallel.strategy), why);
}

} // namespace troupe::training
