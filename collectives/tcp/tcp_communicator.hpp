/// Ranks in several processes, on one host or on several, over TCP.
#pragma once

#include "collectives/tcp/detail/transport.hpp"

namespace troupe::collectives {

/// Blocks until all ranks of the group are connected: call it from a thread that may. The
/// communicator takes host streams; one at a time, as its calls run one after the other. Sums are
/// the same bits on every rank, in the order of the ring, or of a tree where they are few; narrow
/// types are rounded after every addition. Errors: network; whatever the meeting was cancelled for.
Result<std::unique_ptr<Communicator>>
connect_tcp(TcpOptions options, const std::shared_ptr<ConnectionGroup>& connection_group);

} // namespace troupe::collectives
