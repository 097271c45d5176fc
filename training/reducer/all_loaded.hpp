/// Where nodes read the state from each other: nobody's time to connect runs while others still
/// read.
#pragma once

#include "collectives/tcp/data_plane.hpp"
#include "training/node_assignment.hpp"

namespace troupe::training {

/// Blocks until the ranks of all nodes have the state. Errors: network; whatever the meeting was
/// cancelled for.
Status await_all_loaded(collectives::ConnectionGroup& connection_group,
                        const NodeAssignment& assignment, const TimeoutsConfig& timeouts);

} // namespace troupe::training
