/// Waiting in poll(2) until a point in time.
#pragma once

#include <chrono>
#include <span>

#include <poll.h>

namespace troupe::net {

/// Returns the time that is left until `end`, rounded up; 0 if it has passed.
std::chrono::milliseconds time_until(std::chrono::steady_clock::time_point end);

/// Blocks until a descriptor is ready or `end` has passed. Returns whether any is ready.
bool wait_until(std::span<pollfd> descriptors, std::chrono::steady_clock::time_point end);

} // namespace troupe::net
