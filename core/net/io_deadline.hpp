/// Reading and writing on threads that may wait.
#pragma once

#include "core/net/connection.hpp"
#include "core/net/wakeup.hpp"

#include <chrono>
#include <span>

namespace troupe::net {

struct IoDeadline {
  std::chrono::milliseconds timeout; ///< without a byte that has moved
  const Wakeup* cancelled;           ///< signalled: no more of it
};

/// Return when all bytes have moved. Errors: network, with who does not answer.
Status read_all(Connection& connection, std::span<std::byte> to, const IoDeadline& io_deadline);
Status write_all(Connection& connection, std::span<const std::byte> from,
                 const IoDeadline& io_deadline);

} // namespace troupe::net
