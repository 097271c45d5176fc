#include "tests/system/slow_link.hpp"

#include <array>
#include <limits>

#include <poll.h>
#include <sys/socket.h>

namespace troupe::testing {

using namespace std::chrono_literals;

SlowLink::SlowLink(const std::string& host, Endpoint to, double bytes_per_second)
    : to_{std::move(to)}, bytes_per_second_{bytes_per_second},
      listener_{net::listen_on({host, to_.port}).value()}, accepting_{[this] { accept_all(); }} {}

SlowLink::~SlowLink() {
  ended_ = true;
  accepting_.join();
  for (auto& connection : connections_) {
    ::shutdown(connection.asking.number(), SHUT_RDWR);
    ::shutdown(connection.asked.number(), SHUT_RDWR);
    connection.there.join();
    connection.back.join();
  }
}

void SlowLink::accept_all() {
  while (!ended_) {
    pollfd ready{.fd = listener_.socket.number(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 20) > 0)
      accept_one();
  }
}

void SlowLink::accept_one() {
  net::Descriptor asking{::accept4(listener_.socket.number(), nullptr, nullptr, SOCK_CLOEXEC)};
  auto asked = net::connect_to(to_, 3600s);
  if (!asking || !asked)
    return;
  auto& connection = connections_.emplace_back();
  connection.asking = std::move(asking);
  connection.asked = std::move(*asked);
  const int client = connection.asking.number(), server = connection.asked.number();
  connection.there =
      std::thread{[this, client, server] { forward(client, server, bytes_per_second_); }};
  connection.back = std::thread{
      [this, client, server] { forward(server, client, std::numeric_limits<double>::infinity()); }};
}

/// Forwards until either side closes; then closes both.
void SlowLink::forward(int from, int to, double bytes_per_second) const {
  std::array<char, 2048> bytes;
  while (!ended_) {
    const auto count = ::recv(from, bytes.data(), bytes.size(), 0);
    if (count <= 0 ||
        ::send(to, bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) != count)
      break;
    std::this_thread::sleep_for(
        std::chrono::duration<double>{static_cast<double>(count) / bytes_per_second});
  }
  ::shutdown(from, SHUT_RDWR);
  ::shutdown(to, SHUT_RDWR);
}

} // namespace troupe::testing
