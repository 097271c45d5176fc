/// Where nodes read the state from each other: nobody's time to connect runs while others still
/// read.
#pragma once

#include "collectives/tcp/data_plane.hpp"
#include "engine/seat.hpp"

namespace troupe::engine {

/// Blocks until the ranks of all nodes have the state. Errors: network; whatever the meeting was
/// cancelled for.
Status await_all_loaded(collectives::Meeting& meeting, const Seat& seat,
                        const TimeoutsConfig& timeouts);

} // namespace troupe::engine
