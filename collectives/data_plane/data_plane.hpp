/// The connections between processes that carry values, separate from those of the actors: of the
/// ring's ranks, of point-to-point messages, and of states that nodes send each other.
#pragma once

#include "collectives/data_plane/connection_group.hpp"
#include "core/config/cluster.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace troupe::collectives {

/// Options of a process's only data plane.
struct DataPlaneOptions {
  Endpoint listen;                          ///< port 0: a free one
  TlsConfig tls = {};                       ///< if enabled, encrypts all connections
  std::chrono::milliseconds handshake = {}; ///< handshake timeout
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
