/// Chooses the nodes that train if workers train in groups of a given size (parallel.shard_group,
/// parallel.diloco.group_size). The others wait as spares.
#pragma once

#include "actors/cluster_messages.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe::actors {

/// The size of a group, and the config key that sets it.
struct WorkerGroups {
  std::int64_t size = 1;
  std::string key = {};
};

/// Takes the number of workers of each node, the leader's first. Returns which nodes train: the
/// leader and others, with as many workers as possible, whose total is a multiple of `group`. Among
/// choices with equally many workers, it leaves out the last nodes. Empty if no choice fills whole
/// groups.
std::vector<bool> choose_trainers(std::span<const std::int32_t> workers, std::int64_t group);

/// Returns the number of workers that train; 0 if no choice fills whole groups.
std::int64_t count_trainers(std::span<const std::int32_t> workers, std::int64_t group);

std::vector<std::int32_t> workers_of(const std::vector<NodeInfo>& nodes);
std::int64_t total_workers(const std::vector<NodeInfo>& nodes);

} // namespace troupe::actors
