/// Ranks in several processes, on one host or on several, over TCP.
#pragma once

#include "detail/transport.hpp"

namespace troupe::collectives {

/// Blocks until all ranks of the group are connected: call it from a thread that may. The
/// communicator takes host streams; one at a time, as its calls run one after the other. Sums are
/// in the order of the ring, the same on every rank; narrow types are rounded after every addition.
/// A call that meets none like it fails when the time is up. Errors: network.
Result<std::unique_ptr<Communicator>> connect_gloo(const GlooOptions& options,
                                                   KeyValueStore& store);

} // namespace troupe::collectives
