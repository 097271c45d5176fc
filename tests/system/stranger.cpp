#include "tests/system/stranger.hpp"

#include "core/net/socket.hpp"

#include <array>
#include <stdexcept>

#include <poll.h>
#include <sys/socket.h>

namespace troupe::testing {

using namespace std::chrono_literals;

Stranger::Stranger(const Endpoint& daemon, const std::optional<TlsConfig>& tls) {
  auto socket = net::connect_to(daemon, 60s);
  if (!socket)
    throw std::runtime_error(socket.error().message);
  socket_ = std::move(*socket);
  if (!tls)
    return;
  context_ = net::open_tls(*tls).value();
  session_.reset(SSL_new(context_.get()));
  SSL_set_fd(session_.get(), socket_.number());
  SSL_connect(session_.get());
}

void Stranger::send(std::string_view bytes) {
  if (session_)
    SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size()));
  else [[maybe_unused]]
    const auto sent = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void Stranger::break_off() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_.number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  session_.reset();
  socket_ = net::Descriptor{};
}

bool Stranger::sees_the_end() {
  // Reads below TLS: it only matters whether the daemon still holds the connection.
  std::array<char, 4096> ignored;
  for (;;) {
    pollfd ready{.fd = socket_.number(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 0) == 0)
      return false;
    if (::recv(socket_.number(), ignored.data(), ignored.size(), 0) <= 0)
      return true;
  }
}

} // namespace troupe::testing
