/// Synchronizes nodes after they have read the state from each other, so that connect timeouts do
/// not run while others still read.
#pragma once

#include "collectives/data_plane/connection_group.hpp"
#include "core/config/cluster.hpp"
#include "training/node_assignment.hpp"

namespace troupe::training {

/// Blocks until the ranks of all nodes have loaded the state. Errors: network; the reason for which
/// the connection group was cancelled.
Status await_all_loaded(collectives::ConnectionGroup& connection_group,
                        const NodeAssignment& assignment, const TimeoutsConfig& timeouts);

} // namespace troupe::training
