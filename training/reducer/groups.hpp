/// Connects the workers of this node with those that they share a job with.
#pragma once

#include "collectives/strategy.hpp"
#include "collectives/tcp/data_plane.hpp"
#include "training/node_assignment.hpp"
#include "training/rank_state.hpp"

#include <memory>
#include <span>

namespace troupe::training {

struct GroupOptions {
  GenerationRecord generation;
  TimeoutsConfig timeouts;
  /// Where ranks of different nodes connect; may be null when there is one node.
  std::shared_ptr<collectives::ConnectionGroup> connection_group;
  /// Batch norms are synchronized: several ranks get a group of their own for it, and `train` sums
  /// over that.
  bool statistics = false;
};

/// Makes the communicators of a node's replicas, as its devices make them. Blocks until all ranks
/// of every group are connected. Errors: network, when some rank does not come within the quorum
/// timeout; those of PlatformDevices::make_group.
Status join_groups(PlatformDevices& devices,
                   std::span<const std::shared_ptr<RankState>> rank_states,
                   const collectives::Strategy& strategy, const GroupOptions& options);

} // namespace troupe::training
