#include "collectives/tcp/data_plane.hpp"

#include "collectives/tcp/detail/connection_listener.hpp"
#include "core/fail.hpp"
#include "core/net/sigpipe.hpp"

#include <algorithm>
#include <array>

#include <openssl/rand.h>
#include <poll.h>

namespace troupe::collectives {

namespace {

using Clock = std::chrono::steady_clock;

} // namespace

Result<net::Connection> ConnectionGroup::connect(const Endpoint& to, const LinkName& link,
                                                 std::chrono::milliseconds timeout) {
  TROUPE_TRY(status());
  const net::NoSigpipe no_sigpipe;
  auto socket = net::connect_to(to, timeout, cancelled_);
  if (!socket)
    return because(socket.error());
  net::Connection connection{std::move(*socket), listener_->tls(), net::Side::connects,
                             to_string(to)};
  TROUPE_TRY(const auto handshake, make_handshake(key_, link));
  const auto bytes = std::as_bytes(std::span{&handshake, 1});
  if (const auto said = net::write_all(connection, bytes, io_deadline(timeout)); !said)
    return because(said.error());
  return connection;
}

Result<net::Connection> ConnectionGroup::accept(const LinkName& link,
                                                std::chrono::milliseconds timeout,
                                                const std::stop_token& stop) {
  auto connection = listener_->take(link_proof(key_, link), Clock::now() + timeout,
                                    [&] { return over_ || stop.stop_requested(); });
  if (connection)
    return *std::move(connection);
  return because({Errc::network, fmt::format("rank {} has not connected within {}", link.from,
                                             format_duration(timeout))});
}

void ConnectionGroup::cancel(const Error& reason) {
  {
    const std::lock_guard lock{mutex_};
    if (reason_)
      return;
    reason_ = reason;
  }
  over_ = true;
  cancelled_.signal();
  listener_->look_again();
}

void ConnectionGroup::look_again() const {
  listener_->look_again();
}

Status ConnectionGroup::await_reason(std::chrono::milliseconds timeout) const {
  pollfd waiting{cancelled_.number(), POLLIN, 0};
  ::poll(&waiting, 1, static_cast<int>(timeout.count()));
  return status();
}

Status ConnectionGroup::status() const {
  const std::lock_guard lock{mutex_};
  return reason_ ? failure(*reason_) : Status{};
}

tl::unexpected<Error> ConnectionGroup::because(const Error& error) const {
  const auto reason = status();
  return failure(reason ? error : reason.error());
}

Result<std::shared_ptr<DataPlane>> DataPlane::open(const DataPlaneOptions& options) {
  net::TlsContext tls;
  if (options.tls.enabled()) {
    TROUPE_TRY(tls, net::open_tls(options.tls));
  }
  TROUPE_TRY(auto listener, net::listen_on(options.listen));
  return std::shared_ptr<DataPlane>{new DataPlane{std::make_shared<ConnectionListener>(
      std::move(listener), std::move(tls), options.handshake)}};
}

std::uint16_t DataPlane::port() const {
  return listener_->port();
}

std::shared_ptr<ConnectionGroup> DataPlane::join_group(std::int64_t generation,
                                                       const std::string& secret) {
  const std::lock_guard lock{mutex_};
  if (!connection_group_ || connection_group_->generation() != generation) {
    const auto key = generation_key(generation, secret);
    connection_group_ = std::make_shared<ConnectionGroup>(listener_, generation, key);
    listener_->expect(key);
  }
  return connection_group_;
}

void DataPlane::cancel(std::int64_t generation, const Error& reason) {
  const std::lock_guard lock{mutex_};
  if (connection_group_ && connection_group_->generation() == generation)
    connection_group_->cancel(reason);
}

Result<std::string> make_secret() {
  std::array<unsigned char, 16> bytes = {};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    return fail(Errc::internal, "the system provides no random bytes for a secret");
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

} // namespace troupe::collectives
