/// Takes connections that other processes make, until somebody here asks for them.
#pragma once

#include "collectives/tcp/detail/handshake.hpp"
#include "core/net/connection.hpp"
#include "core/net/socket.hpp"
#include "core/net/tls.hpp"
#include "core/net/wakeup.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace troupe::collectives {

/// One thread, which reads nothing but a hello from a connection. It closes a connection without a
/// hello in time, and one whose hello has come before. It also closes one whose hello has another
/// key, unless that key is expected soon after: other nodes may hear of a generation first. If
/// there are too many connections, it closes the oldest one of the address with the most, so that a
/// stranger drives out strangers. It closes none before it has had time for a hello: meanwhile,
/// others wait to be accepted.
class ConnectionListener {
public:
  ConnectionListener(net::Listener listener, net::TlsContext tls,
                     std::chrono::milliseconds io_deadline);
  ~ConnectionListener();
  ConnectionListener(const ConnectionListener&) = delete;
  ConnectionListener& operator=(const ConnectionListener&) = delete;

  std::uint16_t port() const { return port_; }
  ssl_ctx_st* tls() const { return tls_.get(); }
  /// From now on hellos with this key are taken, and no others.
  void expect(const GenerationKey& key);
  /// Until then, answers hellos with this key that name this link, and closes their connections.
  void answer(const GenerationKey& key, const Proof& link,
              std::chrono::steady_clock::time_point until);
  /// Waits for the connection of this link; nothing when the time is up, or `cancelled` gives true.
  std::optional<net::Connection> take(const Proof& link, std::chrono::steady_clock::time_point end,
                                      const std::function<bool()>& cancelled);
  /// Those who wait in take() look whether they are cancelled.
  void look_again();

private:
  using Clock = std::chrono::steady_clock;
  struct PendingConnection {
    net::Connection connection;
    std::string from;         ///< the other end's address, without its port
    Clock::time_point since;  ///< he has been accepted
    Clock::time_point latest; ///< for the whole hello; then, to be expected; then, to be asked for
    Handshake handshake = {};
    std::size_t said = 0; ///< bytes of the hello
    bool ready = true;    ///< there may be more to hear
  };
  using PendingConnections = std::list<PendingConnection>;
  struct Probed {
    GenerationKey key;
    Proof link;
    Clock::time_point until;
  };
  void serve();
  void await();
  void accept();
  void read_handshakes();
  bool listen_to(PendingConnection& pending) const;
  void admit(PendingConnection&& pending);
  bool is_expected(const PendingConnection& pending) const;
  bool is_answered(PendingConnection& pending) const;
  bool is_new(const PendingConnection& pending);
  Clock::time_point forget_early();
  bool has_room();
  static void make_room(PendingConnections& pending_connections, std::size_t most);
  static PendingConnections::iterator first_to_go(PendingConnections& pending_connections);

  net::Descriptor listener_;
  std::uint16_t port_;
  net::TlsContext tls_;
  std::chrono::milliseconds io_deadline_;
  net::Wakeup closing_;
  std::atomic<bool> closed_ = false;
  bool full_ = false; ///< no more can be accepted now: asking again at once would spin
  PendingConnections pending_connections_;
  std::mutex mutex_; ///< guards what follows
  std::condition_variable changed_;
  GenerationKey key_ = {};
  std::set<Proof> used_;        ///< nonces of hellos with this key
  PendingConnections early_;    ///< have said hello, with a key that is not expected yet
  PendingConnections admitted_; ///< with the one that is
  std::list<Probed> probed_;    ///< in the order in which they were asked for
  std::thread thread_;
};

} // namespace troupe::collectives
