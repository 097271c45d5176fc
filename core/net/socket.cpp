#include "socket.hpp"

#include "troupe/core/fail.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include <netdb.h>
#include <sys/socket.h>

namespace troupe::net {

namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// What a host's name stands for; where that is nothing, why.
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

/// Invalid, with errno set, when one cannot listen there.
Descriptor open_listener(const addrinfo& address) {
  Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket)
    return socket;
  // A run may follow another one at once: the port of the first is still held for late packets.
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

/// Invalid, with errno set (EINPROGRESS: time is over), when one cannot connect there.
Descriptor open_connection(const addrinfo& address, std::chrono::milliseconds timeout) {
  Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket)
    return socket;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(timeout);
  const timeval limit{seconds.count(), std::chrono::microseconds(timeout - seconds).count()};
  ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); // connect's too
  if (::connect(socket.number(), address.ai_addr, address.ai_addrlen) != 0) {
    const int number = errno;
    socket = Descriptor{};
    errno = number;
  }
  return socket;
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

Result<Descriptor> connect_to(const Endpoint& endpoint, std::chrono::milliseconds timeout) {
  const auto [addresses, problem] = look_up(endpoint, 0);
  auto why = problem;
  for (const auto* address = addresses.get(); address; address = address->ai_next) {
    if (auto socket = open_connection(*address, timeout))
      return socket;
    why = errno == EINPROGRESS ? "no answer" : std::strerror(errno);
  }
  return fail(Errc::network, "cannot connect to {}: {}", to_string(endpoint), why);
}

} // namespace troupe::net
