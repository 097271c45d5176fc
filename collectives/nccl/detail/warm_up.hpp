/// The calls that a new group makes before any stream waits for a call.
#pragma once

#include "collectives/call.hpp"

#include <cstddef>
#include <vector>

namespace troupe::collectives {

/// Returns the bytes of a buffer for the calls of warm_up_calls().
std::size_t warm_up_bytes(int world_size);

/// Returns the same calls for every rank, in the same order. NCCL loads a kernel and connects an
/// algorithm or a peer when a call first needs it. Both may wait for an idle device, and a device
/// does not become idle while a stream waits for the call itself. The list has each kind of call:
/// sums in every type, sizes for which NCCL takes different algorithms, and a shift over every
/// distance, which sends to every peer and receives from every peer.
std::vector<Call> warm_up_calls(int world_size, std::byte* buffer);

} // namespace troupe::collectives
