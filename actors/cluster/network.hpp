/// How processes reach each other: CAF's middleman, over TLS where there are certificates.
#pragma once

#include "../interfaces.hpp"

#include "troupe/core/config/cluster.hpp"
#include "troupe/core/error.hpp"
#include "troupe/core/units.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace troupe::actors {

/// What a process shows to others, and asks of them.
struct NetworkOptions {
  std::string version; ///< of the program; those of another one are refused
  TlsConfig tls = {};
  TimeoutsConfig timeouts = {};
  std::int64_t max_nodes = 1; ///< of the job; those who only ask come beside them
};

/// Whether this build's CAF bounds what strangers can make it allocate and keep open
/// (cmake/patches/caf-3-basp-limits.patch).
bool network_is_bounded();

/// Without bounds, a daemon may listen on loopback only. Error: invalid_input.
Status check_reach(const Endpoint& listen, bool bounded);

/// The configuration of every actor system of ours.
class SystemConfig : public caf::actor_system_config {
public:
  /// Without options: an actor system that talks to nobody. The files of options.tls must have been
  /// checked (core/net/tls.hpp): CAF ends the process where they do not fit.
  explicit SystemConfig(const std::optional<NetworkOptions>& options);
};

/// Lets others reach the node at `listen`; the port, also when that was 0. Errors: network;
/// invalid_input (the files of options.tls).
Result<std::uint16_t> publish(const node_actor& node, const Endpoint& listen,
                              const NetworkOptions& options);

/// The node of the daemon that listens there. Blocks at most for the timeout, except while the
/// system looks up the host's name. Errors: invalid_input
/// (the files of options.tls), network, with what is wrong: nothing listens, it is no daemon, one
/// of another version, or one side's certificate is refused. Error::whose is `here` where trying
/// again would not help: another version, no certificates, another authority.
Result<node_actor> connect(caf::actor_system& system, const Endpoint& daemon,
                           const NetworkOptions& options, std::chrono::milliseconds timeout);

} // namespace troupe::actors
