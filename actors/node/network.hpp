/// Connections between processes: CAF's middleman, over TLS if certificates are configured.
#pragma once

#include "actors/interfaces.hpp"
#include "core/config/cluster.hpp"
#include "core/error.hpp"
#include "core/units.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace troupe::actors {

/// Identity and limits of a process on the network.
struct NetworkOptions {
  std::string version; ///< of the program; peers of another version are refused
  TlsConfig tls = {};
  TimeoutsConfig timeouts = {};
  std::int64_t max_nodes = 1; ///< of the job; clients such as `troupe status` are not counted
};

/// Whether this build's CAF bounds the memory and connections that strangers can make it use
/// (cmake/patches/caf-3-basp-limits.patch).
bool network_is_bounded();

/// Without bounds, a daemon may listen on loopback only. Error: invalid_input.
Status check_reach(const Endpoint& listen, bool bounded);

/// Registers all message types in CAF's table for this process. CAF needs the complete table before
/// the first actor system starts. Thread-safe; may be called any number of times.
void register_message_types();

/// The configuration of all our actor systems.
class SystemConfig : public caf::actor_system_config {
public:
  /// Without options: an actor system without a network. The files of options.tls must have been
  /// checked (core/net/tls.hpp): CAF ends the process if they do not fit.
  explicit SystemConfig(const std::optional<NetworkOptions>& options);
};

/// Publishes the node at `listen`. Returns the port, which the system chooses for port 0. Errors:
/// network; invalid_input (the files of options.tls).
Result<std::uint16_t> publish(const node_actor& node, const Endpoint& listen,
                              const NetworkOptions& options);

/// Connects to the daemon at this address, and returns its NODE. Blocks at most for the timeout,
/// except while the system looks up the host's name. Errors: invalid_input (the files of
/// options.tls); network, with the cause: nothing listens, it is not a daemon, it has a different
/// version, or one side's certificate is refused. Error::whose is `here` if another attempt cannot
/// help: a different version, no certificates, a different authority.
Result<node_actor> connect(caf::actor_system& system, const Endpoint& daemon,
                           const NetworkOptions& options, std::chrono::milliseconds timeout);

/// Gives the CONSENSUS actors of this daemon and of the daemon at `address` handles of each other,
/// on a new thread (ConsensusSetup::connect). `limit`: of each exchange. Precondition: the options
/// outlive that thread.
void introduce(caf::actor_system& system, const NetworkOptions& options,
               std::chrono::milliseconds limit, const training::Voter& self,
               const consensus_actor& consensus, const std::string& address);

} // namespace troupe::actors
