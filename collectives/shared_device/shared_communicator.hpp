/// Ranks in one process that share the host's memory. Each reads and writes the others' buffers and
/// sums its block, in rank order.
#pragma once

#include "collectives/communicator.hpp"

#include <chrono>
#include <memory>
#include <vector>

namespace troupe::collectives {

/// Returns the communicators of a new group, by rank. They take host streams. A rank leaves when
/// its communicator is destroyed and its enqueued work is done; ranks that wait for it then fail at
/// once. If a rank does not arrive within `timeout`, the whole group fails.
std::vector<std::unique_ptr<Communicator>> make_shared_group(int world_size,
                                                             std::chrono::milliseconds timeout);

} // namespace troupe::collectives
