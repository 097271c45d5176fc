/// TCP connections, with errors that suggest a remedy.
#pragma once

#include "core/error.hpp"
#include "core/net/descriptor.hpp"
#include "core/net/wakeup.hpp"
#include "core/units.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace troupe::net {

struct Listener {
  Descriptor socket; ///< non-blocking
  std::uint16_t port = 0;
};

/// Port 0 takes a free one.
Result<Listener> listen_on(const Endpoint& endpoint);

/// Whether another socket occupies the port. False if the address cannot be used for another
/// reason.
bool is_in_use(const Endpoint& endpoint);

/// Connects a blocking socket. Connecting, and each later call on it, blocks at most for the
/// timeout. Error: network.
Result<Descriptor> connect_to(const Endpoint& endpoint, std::chrono::milliseconds timeout);

/// Connects a non-blocking socket. Blocks until it is connected, the timeout has passed or
/// `cancelled` is signalled. Error: network.
Result<Descriptor> connect_to(const Endpoint& endpoint, std::chrono::milliseconds timeout,
                              const Wakeup& cancelled);

/// Whether that host reports that nothing listens there. False if it does not answer or has no
/// route: a process may still listen there.
bool is_refused(const Endpoint& endpoint, std::chrono::milliseconds timeout);

/// Returns this host's numeric address on the route to the endpoint; sends nothing. Error: network.
Result<std::string> own_address_towards(const Endpoint& endpoint);

} // namespace troupe::net
