/// The data plane's connections of one generation.
#pragma once

#include "core/net/cancellation.hpp"
#include "core/net/connection.hpp"
#include "core/net/io_deadline.hpp"
#include "core/units.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace troupe::collectives {

class ConnectionListener;

/// Names a connection in one direction, from one member of a group to another.
struct LinkName {
  std::string group; ///< unique in a generation
  std::int32_t from = 0, to = 0;
};

/// Computed from a generation's secret, without revealing it; proves that a process knows the
/// secret (detail/handshake.hpp).
using GenerationKey = std::array<std::byte, 32>;

/// Thread-safe.
class ConnectionGroup {
public:
  ConnectionGroup(std::shared_ptr<ConnectionListener> listener, std::int64_t generation,
                  const GenerationKey& key)
      : listener_{std::move(listener)}, generation_{generation}, key_{key} {}

  std::int64_t generation() const { return generation_; }
  /// Connects to the process that listens at `to`. Blocks until connected. Errors: network; the
  /// reason if the group was cancelled.
  Result<net::Connection> connect(const Endpoint& to, const LinkName& link,
                                  std::chrono::milliseconds timeout);
  /// Blocks until the member has connected or `stopped` is cancelled. `from`: the member's name in
  /// errors; default: "node" and its number. Errors: as for connect().
  Result<net::Connection> accept(const LinkName& link, std::chrono::milliseconds timeout,
                                 const std::string& from = {},
                                 const net::Cancellation* stopped = nullptr);
  /// Wakes threads in accept(), which then check `stopped`.
  void look_again() const;

  /// Ends all waits of this group with this error and refuses new connections. Existing connections
  /// stay open. Only the first reason counts.
  void cancel(const Error& reason);
  /// Error: the reason, if the group was cancelled.
  Status status() const { return cancellation_.status(); }
  /// Like status(), but waits up to `timeout` for a cancellation.
  Status await_reason(std::chrono::milliseconds timeout) const;
  /// Deadline for I/O on its connections; cancel() ends it early.
  net::IoDeadline io_deadline(std::chrono::milliseconds timeout) const {
    return {timeout, &cancellation_.signal()};
  }

private:
  tl::unexpected<Error> because(const Error& error) const;

  std::shared_ptr<ConnectionListener> listener_;
  std::int64_t generation_;
  GenerationKey key_;
  net::Cancellation cancellation_;
};

} // namespace troupe::collectives
