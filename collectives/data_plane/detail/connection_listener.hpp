/// Accepts connections of other processes and holds them until a local caller takes them.
#pragma once

#include "collectives/data_plane/detail/handshake.hpp"
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
#include <string_view>
#include <thread>

namespace troupe::collectives {

/// Has one thread, which reads only the handshake from a connection. Closes a connection without a
/// handshake in time, or with a repeated handshake. Closes one whose handshake has an unknown key,
/// unless that key is expected soon: other nodes may learn of a generation first. When there are
/// too many connections, closes the oldest one of the address with the most, so that a stranger
/// evicts only strangers. A connection is never evicted before it has had time for a handshake;
/// until then, others wait to be accepted.
class ConnectionListener {
public:
  ConnectionListener(net::Listener listener, net::TlsContext tls,
                     std::chrono::milliseconds io_deadline);
  ~ConnectionListener();
  ConnectionListener(const ConnectionListener&) = delete;
  ConnectionListener& operator=(const ConnectionListener&) = delete;

  std::uint16_t port() const { return port_; }
  ssl_ctx_st* tls() const { return tls_.get(); }
  /// Accepts handshakes with this key from now on, and no others.
  void expect(const GenerationKey& key);
  /// Until then, answers handshakes with this key that name this link, and closes their
  /// connections.
  void answer(const GenerationKey& key, const Proof& link,
              std::chrono::steady_clock::time_point until);
  /// Waits for the connection of this link. Returns nothing after `end`, or if `cancelled` returns
  /// true.
  std::optional<net::Connection> take(const Proof& link, std::chrono::steady_clock::time_point end,
                                      const std::function<bool()>& cancelled);
  /// Wakes threads in take(), which then check `cancelled`.
  void look_again();

private:
  using Clock = std::chrono::steady_clock;
  struct PendingConnection {
    net::Connection connection;
    Clock::time_point since; ///< accepted at
    Clock::time_point
        latest; ///< deadline of the handshake; then, of being expected; then, of take()
    Handshake handshake = {};
    std::size_t said = 0; ///< bytes of the handshake
    bool ready = true;    ///< there may be more to read

    /// Returns the other end's address, without its port.
    std::string_view from() const { return connection.name(); }
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
  void hold(PendingConnection&& pending);
  bool is_answered(PendingConnection& pending) const;
  Clock::time_point forget_late();
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
  std::mutex mutex_; ///< guards the following
  std::condition_variable changed_;
  GenerationKey key_ = {};
  std::set<Proof> used_;        ///< nonces of handshakes with this key
  PendingConnections early_;    ///< complete handshake, but with a key that is not expected yet
  PendingConnections admitted_; ///< with the expected key
  std::list<Probed> probed_;    ///< in the order of answer()
  std::thread thread_;
};

} // namespace troupe::collectives
