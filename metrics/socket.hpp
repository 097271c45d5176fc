/// Listening for TCP connections, with errors that say what to do.
#pragma once

#include "descriptor.hpp"

#include "troupe/core/error.hpp"
#include "troupe/core/units.hpp"

#include <cstdint>
#include <string>

namespace troupe::metrics {

struct Listener {
  Descriptor socket; ///< does not block
  std::uint16_t port = 0;
};

/// Port 0 takes a free one.
Result<Listener> listen_on(const Endpoint& endpoint);

/// HOST:PORT, with brackets around an IPv6 address.
std::string to_string(const Endpoint& endpoint);

} // namespace troupe::metrics
