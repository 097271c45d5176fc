/// TCP connections, with errors that say what to do.
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
  Descriptor socket; ///< does not block
  std::uint16_t port = 0;
};

/// Port 0 takes a free one.
Result<Listener> listen_on(const Endpoint& endpoint);

/// Whether another socket occupies the port. False if the address cannot be used for another
/// reason.
bool is_in_use(const Endpoint& endpoint);

/// A connected socket that blocks, each call at most for the timeout, as connecting does. Error:
/// network.
Result<Descriptor> connect_to(const Endpoint& endpoint, std::chrono::milliseconds timeout);

/// A connected socket that does not block. The wait for it ends with the timeout, and at once when
/// somebody cancels it. Error: network.
Result<Descriptor> connect_to(const Endpoint& endpoint, std::chrono::milliseconds timeout,
                              const Wakeup& cancelled);

/// Whether that host says that nothing listens there. Not where there is no answer or no way to it:
/// somebody may live there.
bool is_refused(const Endpoint& endpoint, std::chrono::milliseconds timeout);

/// This host's address on the way there, as numbers; nothing is sent. Error: network.
Result<std::string> own_address_towards(const Endpoint& endpoint);

} // namespace troupe::net
