#include "data_plane.hpp"

#include "detail/reception.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/core/net/sigpipe.hpp"

#include <algorithm>
#include <array>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <poll.h>

namespace troupe::collectives {

namespace {

using Clock = std::chrono::steady_clock;

using Proof = std::array<std::byte, 32>;

/// The secret does not travel, only what nobody can compute without it (HMAC, RFC 2104).
Proof proof_of(const std::string& secret, const std::string& text) {
  Proof proof = {};
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       reinterpret_cast<unsigned char*>(proof.data()), nullptr);
  return proof;
}

Pass pass_of(std::int64_t generation, const std::string& secret) {
  const auto proof = proof_of(secret, fmt::format("troupe data 2: generation {}", generation));
  Pass pass = {};
  std::copy_n(proof.begin(), pass.size(), pass.begin());
  return pass;
}

Hello hello_of(std::int64_t generation, const std::string& secret, const LinkName& link) {
  const auto pass = pass_of(generation, secret);
  const auto proof =
      proof_of(secret, fmt::format("{} {} {} {}", generation, link.from, link.to, link.group));
  Hello hello = {};
  std::ranges::copy(proof, std::ranges::copy(pass, hello.begin()).out);
  return hello;
}

} // namespace

Result<net::Connection> Meeting::connect(const Endpoint& to, const LinkName& link,
                                         std::chrono::milliseconds timeout) {
  TROUPE_TRY(status());
  const net::NoSigpipe no_sigpipe;
  auto socket = net::connect_to(to, timeout, cancelled_);
  if (!socket)
    return because(socket.error());
  net::Connection connection{std::move(*socket), reception_->tls(), net::Side::connects,
                             to_string(to)};
  const auto hello = hello_of(generation_, secret_, link);
  if (const auto said = net::write_all(connection, hello, patience(timeout)); !said)
    return because(said.error());
  return connection;
}

Result<net::Connection> Meeting::accept(const LinkName& link, std::chrono::milliseconds timeout,
                                        const std::stop_token& stop) {
  auto connection = reception_->take(hello_of(generation_, secret_, link), Clock::now() + timeout,
                                     [&] { return over_ || stop.stop_requested(); });
  if (connection)
    return *std::move(connection);
  return because({Errc::network, fmt::format("rank {} has not connected within {}", link.from,
                                             format_duration(timeout))});
}

void Meeting::cancel(const Error& reason) {
  {
    const std::lock_guard lock{mutex_};
    if (reason_)
      return;
    reason_ = reason;
  }
  over_ = true;
  cancelled_.signal();
  reception_->look_again();
}

void Meeting::look_again() const {
  reception_->look_again();
}

Status Meeting::await_reason(std::chrono::milliseconds timeout) const {
  pollfd waiting{cancelled_.number(), POLLIN, 0};
  ::poll(&waiting, 1, static_cast<int>(timeout.count()));
  return status();
}

Status Meeting::status() const {
  const std::lock_guard lock{mutex_};
  return reason_ ? failure(*reason_) : Status{};
}

tl::unexpected<Error> Meeting::because(const Error& error) const {
  const auto reason = status();
  return failure(reason ? error : reason.error());
}

Result<std::shared_ptr<DataPlane>> DataPlane::open(const DataPlaneOptions& options) {
  net::TlsContext tls;
  if (options.tls.enabled()) {
    TROUPE_TRY(tls, net::open_tls(options.tls));
  }
  TROUPE_TRY(auto listener, net::listen_on(options.listen));
  return std::shared_ptr<DataPlane>{new DataPlane{
      std::make_shared<Reception>(std::move(listener), std::move(tls), options.handshake)}};
}

std::uint16_t DataPlane::port() const {
  return reception_->port();
}

std::shared_ptr<Meeting> DataPlane::meet(std::int64_t generation, const std::string& secret) {
  const std::lock_guard lock{mutex_};
  if (!meeting_ || meeting_->generation() != generation) {
    meeting_ = std::make_shared<Meeting>(reception_, generation, secret);
    reception_->expect(pass_of(generation, secret));
  }
  return meeting_;
}

void DataPlane::cancel(std::int64_t generation, const Error& reason) {
  const std::lock_guard lock{mutex_};
  if (meeting_ && meeting_->generation() == generation)
    meeting_->cancel(reason);
}

Result<std::string> make_secret() {
  std::array<unsigned char, 16> bytes = {};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    return fail(Errc::internal, "the system gives no random bytes for a secret");
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

} // namespace troupe::collectives
