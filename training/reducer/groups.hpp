/// Connects this node's workers with the other workers of the job.
#pragma once

#include "collectives/data_plane/connection_group.hpp"
#include "core/config/cluster.hpp"
#include "training/node_assignment.hpp"
#include "training/rank_state.hpp"
#include "training/strategy.hpp"

#include <memory>
#include <span>

namespace troupe::training {

struct GroupOptions {
  GenerationRecord generation;
  TimeoutsConfig timeouts;
  /// Connects ranks of different nodes; may be null if there is only one node.
  std::shared_ptr<collectives::ConnectionGroup> connection_group;
  /// Synchronizes batch norms: several ranks get a separate group for it, and `train` sums over
  /// that.
  bool statistics = false;
};

/// Creates the communicators of a node's ranks on its devices. Blocks until all ranks of every
/// group are connected. Errors: network if a rank does not connect within the quorum timeout; those
/// of PlatformDevices::make_group.
Status join_groups(PlatformDevices& devices,
                   std::span<const std::shared_ptr<RankState>> rank_states,
                   const Strategy& strategy, const GroupOptions& options);

} // namespace troupe::training
