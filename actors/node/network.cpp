#include "actors/node/network.hpp"

#include "actors/node/detail/handshake.hpp"
#include "core/fail.hpp"
#include "core/net/peer_endpoint.hpp"
#include "core/net/socket.hpp"
#include "core/net/tls.hpp"

#include <caf/io/all.hpp>
#if __has_include(<caf/io/basp/limits.hpp>)
#include <caf/io/basp/limits.hpp>
#endif
#include <caf/openssl/all.hpp>

#include <algorithm>
#include <mutex>
#include <set>

namespace troupe::actors {

namespace {

/// Connections in addition to those of nodes: of `troupe status`, and of clients before their
/// handshake.
constexpr std::size_t connections_to_spare = 256;

/// Makes CAF use our TLS context for all connections. It also compares names.
Status share_certificates(caf::actor_system& system, const TlsConfig& tls) {
#ifdef CAF_IO_BASP_LIMITS // the CAF that tools/bootstrap builds
  if (!system.has_openssl_manager())
    return {};
  TROUPE_TRY(auto context, net::open_tls(tls));
  system.openssl_manager().context([&context] { return context.release(); });
#else
  if (system.has_openssl_manager() && !tls.names.empty())
    return fail(Errc::invalid_input,
                "cluster.tls.names: the CAF of this build cannot check the names in certificates; "
                "build with the CAF that tools/bootstrap makes");
#endif
  return {};
}

using Clock = std::chrono::steady_clock;

/// Like CAF's remote_actor, but with a deadline.
caf::expected<node_actor> remote_node(caf::actor_system& system, const Endpoint& daemon,
                                      Clock::time_point deadline) {
  const auto manager = system.has_openssl_manager() ? system.openssl_manager().actor_handle()
                                                    : system.middleman().actor_handle();
  caf::expected<node_actor> found{caf::sec::no_actor_published_at_port};
  caf::scoped_actor self{system};
  self->request(manager, std::max<Clock::duration>(deadline - Clock::now(), Clock::duration{1}),
                caf::connect_atom_v, daemon.host, daemon.port)
      .receive(
          [&](const caf::node_id&, const caf::strong_actor_ptr& node,
              const std::set<std::string>& interface) {
            const caf::detail::type_list<node_actor> expected;
            if (node && system.assignable(interface, system.message_types(expected)))
              found = caf::actor_cast<node_actor>(node);
          },
          [&](const caf::error& error) { found = error; });
  return found;
}

} // namespace

void register_message_types() {
  static std::once_flag once;
  std::call_once(once, [] {
    caf::core::init_global_meta_objects();
    caf::io::middleman::init_global_meta_objects();
    caf::openssl::manager::init_global_meta_objects();
    caf::init_global_meta_objects<caf::id_block::troupe>();
    caf::init_global_meta_objects<caf::id_block::troupe_roles>();
  });
}

SystemConfig::SystemConfig(const std::optional<NetworkOptions>& options) {
  register_message_types();
  // The cores belong to the streams. The "sharing" policy waits for work on a condition; "stealing"
  // would poll.
  set("caf.scheduler.policy", "sharing");
  set("caf.scheduler.max-threads", 2);
  set("caf.logger.console.verbosity", "quiet");
  set("caf.metrics-filters.actors.includes", std::vector<std::string>{"*"});
  if (!options)
    return;
  load<caf::io::middleman>(); // it defines the next keys
  set("caf.middleman.heartbeat-interval", caf::timespan{options->timeouts.heartbeat_interval()});
  set("caf.middleman.connection-timeout", caf::timespan{options->timeouts.detection});
  set("caf.middleman.handshake-timeout", caf::timespan{options->timeouts.handshake_timeout()});
  set("caf.middleman.max-connections",
      static_cast<std::size_t>(options->max_nodes) + connections_to_spare);
  set("caf.middleman.app-identifiers", std::vector{application_id(options->version)});
  if (!options->tls.enabled())
    return;
  load<caf::openssl::manager>();
  openssl_certificate = *options->tls.certificate;
  openssl_key = *options->tls.key;
  openssl_cafile = *options->tls.ca;
}

bool network_is_bounded() {
#ifdef CAF_IO_BASP_LIMITS
  return true;
#else
  return false;
#endif
}

Status check_reach(const Endpoint& listen, bool bounded) {
  if (bounded || is_loopback(listen))
    return {};
  return fail(Errc::invalid_input,
              "cluster.listen: {} can be reached from other hosts, and the CAF of this build lets "
              "them crash this program; use a loopback address, or build with the CAF that "
              "tools/bootstrap makes",
              to_string(listen));
}

Result<std::uint16_t> publish(const node_actor& node, const Endpoint& listen,
                              const NetworkOptions& options) {
  TROUPE_TRY(share_certificates(node.home_system(), options.tls));
  const auto* host = listen.host.c_str();
  // For a daemon that starts right after another has ended: its port may be in TIME_WAIT.
  constexpr bool reuse = true;
  auto& system = node.home_system();
  const auto port = system.has_openssl_manager()
                        ? caf::openssl::publish(node, listen.port, host, reuse)
                        : system.middleman().publish(node, listen.port, host, reuse);
  if (port)
    return *port;
  // CAF does not report the reason. Listening again fails for the same one.
  const auto reason = net::listen_on(listen);
  return fail(Errc::network,
              "cluster.listen: {}; choose another port, or stop the process that listens there",
              reason ? caf::to_string(port.error()) : reason.error().message);
}

Result<node_actor> connect(caf::actor_system& system, const Endpoint& daemon,
                           const NetworkOptions& options, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  // First, because CAF has one error for all causes.
  TROUPE_TRY(check_handshake(daemon, options, timeout));
  TROUPE_TRY(share_certificates(system, options.tls));
  const auto node = remote_node(system, daemon, deadline);
  if (!node && node.error() == caf::sec::request_timeout)
    return fail(Whose::there, Errc::network, "the daemon at {} has not answered within {}",
                to_string(daemon), format_duration(timeout));
  if (!node)
    return fail(Whose::there, Errc::network, "cannot talk to the daemon at {}: {}",
                to_string(daemon), caf::to_string(node.error()));
  return *node;
}

/// CONSENSUS tries again after an error.
void introduce(caf::actor_system& system, const NetworkOptions& options,
               std::chrono::milliseconds limit, const training::Voter& self,
               const consensus_actor& consensus, const std::string& address) {
  system.spawn<caf::detached>([&system, &options, limit, self, consensus, address] {
    if (const auto daemon = connect(system, net::peer_endpoint(address), options, limit)) {
      caf::scoped_actor here{system};
      here->request(*daemon, limit, atom::introduce_v, self, peer_actor{consensus})
          .receive(
              [&](const training::Voter& who, const peer_actor& peer) {
                caf::anon_send(consensus, atom::introduce_v, who, peer);
              },
              [](const caf::error&) {});
    }
    caf::anon_send(consensus, atom::introduce_v, address);
  });
}

} // namespace troupe::actors
