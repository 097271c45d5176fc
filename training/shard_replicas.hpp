/// Who keeps a copy of whose part of the state: a pure function of a generation's record, so that
/// nobody has to be told.
#pragma once

#include "collectives/strategy.hpp"
#include "training/node_assignment.hpp"

#include <string>

namespace troupe::training {

/// A rank's shard has a copy at the rank that is `distance` on, round the ring of all ranks.
struct ShardReplicas {
  int distance = 0; ///< 0: there are none
  int world_size = 1;

  explicit operator bool() const { return distance > 0; }
  int replica_rank_of(int rank) const { return (rank + distance) % world_size; }
  /// Whose copy a rank keeps.
  int owner_of(int rank) const { return (rank + world_size - distance) % world_size; }
};

/// With the least distance that takes every rank to another host: with as many workers on each,
/// that is to the same place on the next. Daemons of one host are taken for hosts where there is no
/// other one. None where a host has more than half of all ranks, or parallel.buddies is off, or
/// where nothing is divided, or other copies of the state are (hsdp).
ShardReplicas shard_replicas_of(const ParallelConfig& parallel,
                                const collectives::Strategy& strategy,
                                const GenerationRecord& generation);

/// Whether a node that is lost takes along what no other node has all of: ranks of different nodes
/// hold different parts.
bool lies_apart(const collectives::Strategy& strategy, const GenerationRecord& generation);

/// Whether all of the state is left when one node goes, whichever that is.
bool outlives_a_node(const collectives::Strategy& strategy, const ShardReplicas& shard_replicas,
                     const GenerationRecord& generation);

/// Why that is not so, for a person who has begun such a job; empty: it is.
std::string lacks_copies(const ParallelConfig& parallel, const GenerationRecord& generation);

} // namespace troupe::training
