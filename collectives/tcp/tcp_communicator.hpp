/// Ranks in several processes, on one host or on several, over TCP.
#pragma once

#include "collectives/communicator.hpp"
#include "collectives/data_plane/channel.hpp"

namespace troupe::collectives {

/// Blocks until all ranks of the group are connected: call it from a thread that may block. The
/// communicator takes host streams, one at a time, because its calls run one after the other. Sums
/// have the same bits on every rank: in the order of the ring, or of recursive doubling for few
/// values. f16 and bf16 are rounded after every addition. Errors: network; the reason if the
/// connection group was cancelled.
Result<std::unique_ptr<Communicator>>
connect_tcp(ChannelOptions options, const std::shared_ptr<ConnectionGroup>& connection_group);

} // namespace troupe::collectives
