/// Connects this node's workers with the other workers of the job, after all have loaded the state.
#pragma once

#include "core/config/cluster.hpp"
#include "training/generation.hpp"

#include <memory>

namespace troupe::training {

/// Blocks until the ranks of all nodes have loaded the state from each other, so that connect
/// timeouts do not run while others still read. Errors: network; the reason for which the
/// connection group was cancelled.
Status await_all_loaded(collectives::ConnectionGroup& connection_group,
                        const NodeAssignment& assignment, const TimeoutsConfig& timeouts);

/// Creates the communicators of a generation's ranks on this node. If batch norms are synchronized,
/// several ranks also get a separate group for their sums, and `train` sums over it. Blocks until
/// all ranks of every group are connected. `connection_group`: may be null if there is only one
/// node. Errors: network if a rank does not connect within the quorum timeout; those of
/// PlatformDevices::make_group.
Status join_groups(const Generation& generation,
                   const std::shared_ptr<collectives::ConnectionGroup>& connection_group);

} // namespace troupe::training
