/// Blocking reads and writes with a timeout and cancellation.
#pragma once

#include "core/net/connection.hpp"
#include "core/net/wakeup.hpp"

#include <chrono>
#include <span>

namespace troupe::net {

struct IoDeadline {
  std::chrono::milliseconds timeout; ///< longest time without a transferred byte
  const Wakeup* cancelled;           ///< signalled: stop
};

/// Block until all bytes are transferred. Errors: network, with the name of the other end.
Status read_all(Connection& connection, std::span<std::byte> to, const IoDeadline& io_deadline);
Status write_all(Connection& connection, std::span<const std::byte> from,
                 const IoDeadline& io_deadline);

} // namespace troupe::net
