#include "collectives/data_plane/connection_group.hpp"

#include "collectives/data_plane/detail/connection_listener.hpp"
#include "core/fail.hpp"
#include "core/net/wait.hpp"

namespace troupe::collectives {

namespace {

using Clock = std::chrono::steady_clock;

} // namespace

Result<net::Connection> ConnectionGroup::connect(const Endpoint& to, const LinkName& link,
                                                 std::chrono::milliseconds timeout) {
  TROUPE_TRY(status());
  TROUPE_TRY(const auto handshake, make_handshake(key_, link));
  auto connection = open_connection(listener_->tls(), to, handshake, Clock::now() + timeout,
                                    cancellation_.signal());
  return connection ? std::move(connection) : because(connection.error());
}

Result<net::Connection> ConnectionGroup::accept(const LinkName& link,
                                                std::chrono::milliseconds timeout,
                                                const std::string& from,
                                                const net::Cancellation* stopped) {
  auto connection = listener_->take(link_proof(key_, link), Clock::now() + timeout,
                                    [&] { return !status() || (stopped && !stopped->status()); });
  if (connection)
    return *std::move(connection);
  return because(
      {Errc::network, fmt::format("{} has not connected within {}",
                                  from.empty() ? fmt::format("node {}", link.from) : from,
                                  format_duration(timeout))});
}

void ConnectionGroup::cancel(const Error& reason) {
  if (cancellation_.cancel(reason))
    look_again();
}

void ConnectionGroup::look_again() const {
  listener_->look_again();
}

Status ConnectionGroup::await_reason(std::chrono::milliseconds timeout) const {
  pollfd waiting{cancellation_.signal().number(), POLLIN, 0};
  net::wait_until({&waiting, 1}, Clock::now() + timeout);
  return status();
}

tl::unexpected<Error> ConnectionGroup::because(const Error& error) const {
  const auto reason = status();
  return failure(reason ? error : reason.error());
}

} // namespace troupe::collectives
