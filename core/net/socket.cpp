#include "core/net/socket.hpp"

#include "core/fail.hpp"
#include "core/net/wait.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>

namespace troupe::net {

namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// The addresses of a host's name, or the reason why there are none.
struct Found {
  Addresses addresses;
  std::string problem;
};

Found look_up(const Endpoint& endpoint, int flags) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICSERV | flags;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code =
      ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  return {Addresses(found), code == 0 ? "" : ::gai_strerror(code)};
}

std::uint16_t port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXSERV> port{};
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, nullptr, 0, port.data(), port.size(),
                NI_NUMERICSERV);
  return static_cast<std::uint16_t>(std::stoi(port.data()));
}

/// Returns an invalid descriptor, with errno set, if it cannot listen there.
Descriptor open_listener(const addrinfo& address) {
  Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket)
    return socket;
  // Allows a run to follow another one at once, while the kernel still holds the port for late
  // packets.
  const int on = 1;
  ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.number(), address.ai_addr, address.ai_addrlen) != 0 ||
      ::listen(socket.number(), 16) != 0) {
    const int number = errno;
    socket = Descriptor{};
    errno = number;
  }
  return socket;
}

/// Blocks until the socket is connected. Returns 0 or an errno value.
int await_connection(int socket, std::chrono::milliseconds timeout, const Wakeup* cancelled) {
  std::array<pollfd, 2> waiting = {{{socket, POLLOUT, 0}, {-1, POLLIN, 0}}};
  if (cancelled)
    waiting[1].fd = cancelled->number();
  const bool ready = wait_until(waiting, std::chrono::steady_clock::now() + timeout);
  if (waiting[1].revents != 0)
    return ECANCELED;
  if (!ready)
    return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

/// Returns a non-blocking socket; an invalid one, with errno set, if it cannot connect.
Descriptor open_connection(const addrinfo& address, std::chrono::milliseconds timeout,
                           const Wakeup* cancelled) {
  Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket || ::connect(socket.number(), address.ai_addr, address.ai_addrlen) == 0)
    return socket;
  int error = errno;
  if (error == EINPROGRESS)
    error = await_connection(socket.number(), timeout, cancelled);
  if (error != 0)
    socket = Descriptor{};
  errno = error;
  return socket;
}

struct Attempt {
  Descriptor socket;   ///< invalid: no address could be connected to
  int number = 0;      ///< errno of the last attempt; 0: there was no address
  std::string problem; ///< readable reason
};

int count(const addrinfo* addresses) {
  int count = 0;
  for (const auto* address = addresses; address; address = address->ai_next)
    ++count;
  return count;
}

/// Gives each address an equal share of the remaining time.
Attempt try_all(const Endpoint& endpoint, std::chrono::milliseconds timeout,
                const Wakeup* cancelled) {
  const auto [addresses, problem] = look_up(endpoint, 0);
  const auto end = std::chrono::steady_clock::now() + timeout;
  auto untried = count(addresses.get());
  Attempt last;
  last.problem = problem;
  for (const auto* address = addresses.get(); address; address = address->ai_next) {
    if (auto socket = open_connection(*address, time_until(end) / untried--, cancelled))
      return {.socket = std::move(socket), .number = 0, .problem = {}};
    last.number = errno;
    last.problem = errno == ETIMEDOUT ? "no answer" : std::strerror(errno);
  }
  return last;
}

Result<Descriptor> open_any(const Endpoint& endpoint, std::chrono::milliseconds timeout,
                            const Wakeup* cancelled) {
  auto attempt = try_all(endpoint, timeout, cancelled);
  if (attempt.socket)
    return std::move(attempt.socket);
  return fail(Whose::between, Errc::network, "cannot connect to {}: {}", to_string(endpoint),
              attempt.problem);
}

/// Returns an empty string, with errno set, if there is no route.
std::string own_address(const addrinfo& towards) {
  const Descriptor socket(::socket(towards.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  std::array<char, NI_MAXHOST> host{};
  if (!socket || ::connect(socket.number(), towards.ai_addr, towards.ai_addrlen) != 0 ||
      ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
    return {};
  ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, host.data(), host.size(), nullptr, 0,
                NI_NUMERICHOST);
  return host.data();
}

/// Makes the socket blocking, with the timeout for each call.
void block(int socket, std::chrono::milliseconds timeout) {
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) & ~O_NONBLOCK);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(timeout);
  const timeval limit{seconds.count(), std::chrono::microseconds(timeout - seconds).count()};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

} // namespace

Result<Listener> listen_on(const Endpoint& endpoint) {
  const auto [addresses, problem] = look_up(endpoint, AI_PASSIVE);
  auto why = problem;
  for (const auto* address = addresses.get(); address; address = address->ai_next) {
    if (auto socket = open_listener(*address)) {
      const auto port = port_of(socket.number());
      return Listener{std::move(socket), port};
    }
    why = std::strerror(errno);
  }
  return fail(Errc::network, "cannot listen on {}: {}", to_string(endpoint), why);
}

bool is_in_use(const Endpoint& endpoint) {
  const auto [addresses, problem] = look_up(endpoint, AI_PASSIVE);
  for (const auto* address = addresses.get(); address; address = address->ai_next)
    if (!open_listener(*address) && errno == EADDRINUSE)
      return true;
  return false;
}

Result<std::string> own_address_towards(const Endpoint& endpoint) {
  const auto [addresses, problem] = look_up(endpoint, 0);
  auto why = problem;
  for (const auto* address = addresses.get(); address; address = address->ai_next) {
    if (auto own = own_address(*address); !own.empty())
      return own;
    why = std::strerror(errno);
  }
  return fail(Errc::network, "no route from this host to {}: {}", endpoint.host, why);
}

bool is_refused(const Endpoint& endpoint, std::chrono::milliseconds timeout) {
  return try_all(endpoint, timeout, nullptr).number == ECONNREFUSED;
}

Result<Descriptor> connect_to(const Endpoint& endpoint, std::chrono::milliseconds timeout) {
  auto socket = open_any(endpoint, timeout, nullptr);
  if (socket)
    block(socket->number(), timeout);
  return socket;
}

Result<Descriptor> connect_to(const Endpoint& endpoint, std::chrono::milliseconds timeout,
                              const Wakeup& cancelled) {
  return open_any(endpoint, timeout, &cancelled);
}

} // namespace troupe::net
