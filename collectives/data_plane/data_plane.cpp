#include "collectives/data_plane/data_plane.hpp"

#include "collectives/data_plane/detail/connection_listener.hpp"
#include "core/fail.hpp"
#include "core/net/wait.hpp"

#include <array>

#include <openssl/rand.h>

namespace troupe::collectives {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds pause_between_probes{100};

/// Sends a handshake and checks the answer: only a process that knows the ticket can give it.
Status ask_port(ssl_ctx_st* tls, const Endpoint& to, const GenerationKey& key, const LinkName& link,
                Clock::time_point end, const net::Wakeup& ended) {
  TROUPE_TRY(const auto handshake, make_handshake(key, link));
  TROUPE_TRY(auto connection, open_connection(tls, to, handshake, end, ended));
  Proof answer = {};
  TROUPE_TRY(net::read_all(connection, answer, {net::time_until(end), &ended}));
  if (answer != probe_answer(handshake, key))
    return fail(Errc::network, "{}: another process listens there", to_string(to));
  return {};
}

} // namespace

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

void DataPlane::answer_probes(const std::string& ticket, const std::string& node,
                              std::chrono::milliseconds limit) {
  const auto key = probe_key(ticket);
  listener_->answer(key, link_proof(key, probed_link(node)), Clock::now() + limit);
}

Status DataPlane::probe(const std::string& node, const Endpoint& to, const std::string& ticket,
                        std::chrono::milliseconds limit) const {
  const auto end = Clock::now() + limit;
  const auto key = probe_key(ticket);
  const auto link = probed_link(node);
  while (true) {
    const auto answered = ask_port(listener_->tls(), to, key, link, end, probes_ended_);
    const auto again = Clock::now() + pause_between_probes;
    pollfd waiting{probes_ended_.number(), POLLIN, 0};
    if (answered || again >= end || net::wait_until({&waiting, 1}, again))
      return answered;
  }
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
