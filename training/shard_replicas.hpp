/// Placement of shard replicas: which rank keeps a copy of which rank's shard. A pure function of
/// the generation's record, so that every node computes the same placement.
#pragma once

#include "training/node_assignment.hpp"
#include "training/strategy.hpp"

#include <string>

namespace troupe::training {

/// The shard of rank r is replicated at rank r + distance, modulo the world size.
struct ShardReplicas {
  int distance = 0; ///< 0: no replicas
  int world_size = 1;

  explicit operator bool() const { return distance > 0; }
  int replica_rank_of(int rank) const { return (rank + distance) % world_size; }
  /// The rank whose shard `rank` replicates.
  int owner_of(int rank) const { return (rank + world_size - distance) % world_size; }
};

/// Shifts ranks by the smallest distance that places every replica on another host. If all daemons
/// are on one host, daemons count as hosts. No replicas if a host has more than half of all ranks,
/// if parallel.replicate_shards is off, if nothing is divided, or if the strategy already keeps
/// other copies (hsdp).
ShardReplicas shard_replicas_of(const ParallelConfig& parallel, const Strategy& strategy,
                                const GenerationRecord& generation);

/// Whether the state is divided across nodes, so that a lost node takes shards with it.
bool lies_apart(const Strategy& strategy, const GenerationRecord& generation);

/// Whether the whole state survives the loss of any one node.
bool outlives_a_node(const Strategy& strategy, const ShardReplicas& shard_replicas,
                     const GenerationRecord& generation);

/// Returns the reason that outlives_a_node is false, as a message for the user; empty if it is
/// true.
std::string lacks_copies(const ParallelConfig& parallel, const GenerationRecord& generation);

} // namespace troupe::training
