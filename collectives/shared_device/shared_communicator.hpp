/// Ranks that live in one process and share the host's memory: each reads and writes the others'
/// buffers and sums its own slice, in rank order.
#pragma once

#include "collectives/communicator.hpp"

#include <chrono>
#include <memory>
#include <vector>

namespace troupe::collectives {

/// The communicators of a new group, by rank. They take host streams. A rank whose communicator is
/// destroyed has left once what it enqueued is done: a rank that waits for it then fails at once. A
/// rank that does not come within `timeout` fails the whole group.
std::vector<std::unique_ptr<Communicator>> make_shared_group(int world_size,
                                                             std::chrono::milliseconds timeout);

} // namespace troupe::collectives
