/// Takes connections that other processes make, until somebody here asks for them.
#pragma once

#include "troupe/core/net/connection.hpp"
#include "troupe/core/net/socket.hpp"
#include "troupe/core/net/tls.hpp"
#include "troupe/core/net/wakeup.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

namespace troupe::collectives {

/// What whoever connects says first: proof that he knows a generation's secret, and what the
/// connection is for (link_hello). Nothing else is read of a stranger.
using Hello = std::array<std::byte, 48>;

/// One thread. Who does not say hello in time is sent away; so is who has been here longest when
/// there are too many.
class Reception {
public:
  Reception(net::Listener listener, net::TlsContext tls, std::chrono::milliseconds patience);
  ~Reception();
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  std::uint16_t port() const { return port_; }
  ssl_ctx_st* tls() const { return tls_.get(); }
  /// Waits for whoever says this; nothing when the time is up, or `cancelled` gives true.
  std::optional<net::Connection> take(const Hello& hello, std::chrono::steady_clock::time_point end,
                                      const std::function<bool()>& cancelled);
  /// Those who wait in take() look whether they are cancelled.
  void look_again();

private:
  using Clock = std::chrono::steady_clock;
  struct Guest {
    net::Connection connection;
    Clock::time_point latest; ///< for the whole hello; then, to be asked for
    Hello hello = {};
    std::size_t said = 0; ///< bytes of it
  };
  void serve();
  void await();
  void accept();
  void listen_to_guests();
  bool listen_to(Guest& guest) const;
  void admit(Guest&& guest);

  net::Descriptor listener_;
  std::uint16_t port_;
  net::TlsContext tls_;
  std::chrono::milliseconds patience_;
  net::Wakeup closing_;
  std::atomic<bool> closed_ = false;
  bool full_ = false; ///< the process is out of descriptors: asking again at once would spin
  std::list<Guest> guests_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Guest> admitted_; ///< have said hello; guarded by mutex_
  std::thread thread_;
};

} // namespace troupe::collectives
