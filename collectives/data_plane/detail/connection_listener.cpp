#include "collectives/data_plane/detail/connection_listener.hpp"

#include "core/net/sigpipe.hpp"
#include "core/net/wait.hpp"

#include <algorithm>
#include <csignal>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <netdb.h>
#include <sys/socket.h>

namespace troupe::collectives {

namespace {

constexpr int most_in_queue = 1024; ///< connections that are not accepted yet
constexpr std::size_t most_pending_connections = 256, most_early = 256, most_admitted = 4096,
                      most_probed = 64;
constexpr std::chrono::milliseconds pause{20};
/// Time that every connection has for its handshake, however many others come. With TLS, a
/// handshake takes a few round trips, and time of a processor that may be busy with other
/// handshakes.
constexpr std::chrono::milliseconds fair_time{1000};
/// How long an admitted connection waits for take(): longer than any group waits for its ranks.
constexpr std::chrono::minutes longest_wait{30};

std::string host_of(const sockaddr_storage& address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(), host.size(),
                nullptr, 0, NI_NUMERICHOST);
  return host.data();
}

} // namespace

ConnectionListener::ConnectionListener(net::Listener listener, net::TlsContext tls,
                                       std::chrono::milliseconds io_deadline)
    : listener_{std::move(listener.socket)}, port_{listener.port}, tls_{std::move(tls)},
      io_deadline_{io_deadline} {
  ::listen(listener_.number(), most_in_queue);
  thread_ = std::thread{[this] { serve(); }};
}

ConnectionListener::~ConnectionListener() {
  closed_ = true;
  closing_.signal();
  thread_.join();
}

void ConnectionListener::serve() {
  // Leaves signals to the thread that ends the process. OpenSSL raises SIGPIPE on a closed
  // connection.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  while (!closed_) {
    await();
    accept();
    read_handshakes();
  }
}

/// Waits for a new connection, for bytes, or for the next deadline.
void ConnectionListener::await() {
  std::vector<pollfd> waiting = {{closing_.number(), POLLIN, 0},
                                 {full_ ? -1 : listener_.number(), POLLIN, 0}};
  auto latest = std::min(forget_late(), Clock::now() + (full_ ? pause : std::chrono::hours{1}));
  for (const auto& pending : pending_connections_) {
    waiting.push_back({pending.connection.number(), pending.connection.read_events(), 0});
    latest = std::min(latest, pending.latest);
  }
  net::wait_until(waiting, latest);
  auto polled = waiting.begin() + 2;
  for (auto& pending : pending_connections_)
    pending.ready = (polled++)->revents != 0;
}

void ConnectionListener::accept() {
  full_ = false;
  while (true) {
    full_ = !has_room();
    if (full_)
      return;
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    net::Descriptor socket{
        ::accept4(listener_.number(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC)};
    if (!socket) {
      full_ = errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED;
      return;
    }
    make_room(pending_connections_, most_pending_connections);
    const auto now = Clock::now();
    pending_connections_.push_back(
        {{std::move(socket), tls(), net::Side::accepts, host_of(address, size)},
         now,
         now + io_deadline_});
  }
}

void ConnectionListener::read_handshakes() {
  for (auto pending = pending_connections_.begin(); pending != pending_connections_.end();) {
    const auto next = std::next(pending);
    const bool stays = listen_to(*pending);
    if (pending->said == sizeof pending->handshake)
      admit(std::move(*pending));
    if (!stays)
      pending_connections_.erase(pending);
    pending = next;
  }
}

/// Reads bytes of the handshake. Returns whether to keep listening.
bool ConnectionListener::listen_to(PendingConnection& pending) const {
  if (!pending.ready)
    return Clock::now() < pending.latest;
  const auto handshake = std::as_writable_bytes(std::span{&pending.handshake, 1});
  const auto count = pending.connection.read(handshake.subspan(pending.said));
  if (!count)
    return false;
  pending.said += *count;
  return pending.said < handshake.size() && Clock::now() < pending.latest;
}

void ConnectionListener::admit(PendingConnection&& pending) {
  const std::lock_guard lock{mutex_};
  if (is_answered(pending))
    return;
  pending.latest = Clock::now() + io_deadline_;
  hold(std::move(pending));
  changed_.notify_all();
}

/// Drops a copy of an admitted handshake.
void ConnectionListener::hold(PendingConnection&& pending) {
  const bool expected = is_sealed(pending.handshake, key_);
  if (expected && !used_.insert(pending.handshake.nonce).second)
    return;
  if (expected)
    pending.latest = Clock::now() + longest_wait;
  auto& held = expected ? admitted_ : early_;
  make_room(held, expected ? most_admitted : most_early);
  held.push_back(std::move(pending));
}

/// Answers if the handshake is a probe; else returns false. Does not block: the connection's send
/// buffer is still empty.
bool ConnectionListener::is_answered(PendingConnection& pending) const {
  const auto asked = std::ranges::find_if(probed_, [&](const Probed& probed) {
    return pending.handshake.link == probed.link && Clock::now() < probed.until &&
           is_sealed(pending.handshake, probed.key);
  });
  if (asked == probed_.end())
    return false;
  std::ignore = pending.connection.write(probe_answer(pending.handshake, asked->key));
  return true;
}

void ConnectionListener::answer(const GenerationKey& key, const Proof& link,
                                std::chrono::steady_clock::time_point until) {
  const net::NoSigpipe no_sigpipe;
  const std::lock_guard lock{mutex_};
  std::erase_if(probed_, [now = Clock::now()](const Probed& old) { return old.until <= now; });
  if (probed_.size() == most_probed)
    probed_.pop_front();
  probed_.push_back({key, link, until});
  std::erase_if(early_, [this](PendingConnection& pending) { return is_answered(pending); });
}

void ConnectionListener::expect(const GenerationKey& key) {
  const std::lock_guard lock{mutex_};
  if (key == key_)
    return;
  key_ = key;
  used_.clear();
  admitted_.clear();
  for (auto& pending : std::exchange(early_, {}))
    hold(std::move(pending));
}

/// Drops connections that were not expected, or not taken, in time. Returns when to check again.
ConnectionListener::Clock::time_point ConnectionListener::forget_late() {
  const std::lock_guard lock{mutex_};
  const auto is_late = [now = Clock::now()](const PendingConnection& pending) {
    return pending.latest < now;
  };
  std::erase_if(admitted_, is_late);
  std::erase_if(early_, is_late);
  return early_.empty() ? Clock::time_point::max() : early_.front().latest;
}

ConnectionListener::PendingConnections::iterator
ConnectionListener::first_to_go(PendingConnections& pending_connections) {
  std::map<std::string_view, std::size_t> sent;
  for (const auto& pending : pending_connections)
    ++sent[pending.from()];
  const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto whose = std::ranges::max_element(sent, by_count)->first;
  return std::ranges::find(pending_connections, whose, &PendingConnection::from);
}

/// True also if the connection to evict has had its fair time.
bool ConnectionListener::has_room() {
  return pending_connections_.size() < most_pending_connections ||
         Clock::now() - first_to_go(pending_connections_)->since >=
             std::min(fair_time, io_deadline_);
}

void ConnectionListener::make_room(PendingConnections& pending_connections, std::size_t most) {
  if (pending_connections.size() == most)
    pending_connections.erase(first_to_go(pending_connections));
}

std::optional<net::Connection> ConnectionListener::take(const Proof& link,
                                                        std::chrono::steady_clock::time_point end,
                                                        const std::function<bool()>& cancelled) {
  std::unique_lock lock{mutex_};
  auto found = admitted_.end();
  changed_.wait_until(lock, end, [&] {
    found = std::ranges::find_if(admitted_, [&](const PendingConnection& pending) {
      return pending.handshake.link == link; // its seal has been checked
    });
    return found != admitted_.end() || cancelled();
  });
  if (found == admitted_.end())
    return std::nullopt;
  auto connection = std::move(found->connection);
  admitted_.erase(found);
  return connection;
}

void ConnectionListener::look_again() {
  const std::lock_guard lock{mutex_};
  changed_.notify_all();
}

} // namespace troupe::collectives
