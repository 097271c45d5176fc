/// Connections that carry values between processes, separate from those of the actors.
#pragma once

#include "core/config/cluster.hpp"
#include "core/error.hpp"
#include "core/net/connection.hpp"
#include "core/net/io_deadline.hpp"
#include "core/units.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace troupe::collectives {

class ConnectionListener;

/// Options of a process's only data plane.
struct DataPlaneOptions {
  Endpoint listen;                          ///< port 0: a free one
  TlsConfig tls = {};                       ///< if enabled, encrypts all connections
  std::chrono::milliseconds handshake = {}; ///< handshake timeout
};

/// Names a connection in one direction, from one member of a group to another.
struct LinkName {
  std::string group; ///< unique in a generation
  std::int32_t from = 0, to = 0;
};

/// Computed from a generation's secret, without revealing it; proves that a process knows the
/// secret (detail/handshake.hpp).
using GenerationKey = std::array<std::byte, 32>;

/// The connections of one generation. Thread-safe.
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
  /// Blocks until the member has connected or `stop` is requested. Errors: as for connect().
  Result<net::Connection> accept(const LinkName& link, std::chrono::milliseconds timeout,
                                 const std::stop_token& stop = {});
  /// Wakes threads in accept(), which then check `stop`.
  void look_again() const;

  /// Ends all waits of this group with this error and refuses new connections. Existing connections
  /// stay open. Only the first reason counts.
  void cancel(const Error& reason);
  /// Error: the reason, if the group was cancelled.
  Status status() const;
  /// Like status(), but waits up to `timeout` for a cancellation.
  Status await_reason(std::chrono::milliseconds timeout) const;
  /// Deadline for I/O on its connections; cancel() ends it early.
  net::IoDeadline io_deadline(std::chrono::milliseconds timeout) const {
    return {timeout, &cancelled_};
  }

private:
  tl::unexpected<Error> because(const Error& error) const;

  std::shared_ptr<ConnectionListener> listener_;
  std::int64_t generation_;
  GenerationKey key_;
  net::Wakeup cancelled_;
  std::atomic<bool> over_ = false;
  mutable std::mutex mutex_;
  std::optional<Error> reason_;
};

/// Listens for connections of other processes, for all generations. A process that does not know a
/// generation's secret cannot take part in it.
class DataPlane {
public:
  /// Errors: network and invalid_input, as for net::listen_on and net::open_tls.
  static Result<std::shared_ptr<DataPlane>> open(const DataPlaneOptions& options);

  std::uint16_t port() const;
  /// Returns the same group for the same generation, until called for another generation.
  std::shared_ptr<ConnectionGroup> join_group(std::int64_t generation, const std::string& secret);
  /// For `limit`, answers probes of this node's data port by processes that know the ticket.
  void answer_probes(const std::string& ticket, const std::string& node,
                     std::chrono::milliseconds limit);
  /// Checks that the data plane of `node` answers at `to` (answer_probes). Tries repeatedly,
  /// because the node may get the ticket later. Blocks at most for `limit`, plus the time of a name
  /// lookup. Error: network, from the last attempt.
  Status probe(const std::string& node, const Endpoint& to, const std::string& ticket,
               std::chrono::milliseconds limit) const;
  /// Ends all probes of other nodes, also later ones, with an error.
  void end_probes() { probes_ended_.signal(); }
  /// Cancels the connection group of this generation, unless a later one has replaced it.
  void cancel(std::int64_t generation, const Error& reason);

private:
  explicit DataPlane(std::shared_ptr<ConnectionListener> listener)
      : listener_{std::move(listener)} {}

  std::shared_ptr<ConnectionListener> listener_;
  net::Wakeup probes_ended_; ///< stays signalled
  std::mutex mutex_;
  std::shared_ptr<ConnectionGroup> connection_group_;
};

/// Returns an unguessable secret: 32 hex characters. Error: internal, if the system gives no random
/// bytes.
Result<std::string> make_secret();

} // namespace troupe::collectives
