// Probes, which check that a data plane can be reached before any generation depends on it.
#include "collectives/tcp/data_plane.hpp"
#include "collectives/tcp/detail/connection_listener.hpp"
#include "core/fail.hpp"
#include "core/net/sigpipe.hpp"

#include <algorithm>

#include <poll.h>

namespace troupe::collectives {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds pause_between_probes{100};

milliseconds time_until(Clock::time_point end) {
  return std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(end - Clock::now()));
}

/// Sends a handshake and checks the answer: only a process that knows the ticket can give it.
Status ask_port(ssl_ctx_st* tls, const Endpoint& to, const GenerationKey& key, const LinkName& link,
                Clock::time_point end, const net::Wakeup& ended) {
  const net::NoSigpipe no_sigpipe;
  TROUPE_TRY(auto socket, net::connect_to(to, time_until(end), ended));
  net::Connection connection{std::move(socket), tls, net::Side::connects, to_string(to)};
  TROUPE_TRY(const auto handshake, make_handshake(key, link));
  TROUPE_TRY(net::write_all(connection, std::as_bytes(std::span{&handshake, 1}),
                            {time_until(end), &ended}));
  Proof answer = {};
  TROUPE_TRY(net::read_all(connection, answer, {time_until(end), &ended}));
  if (answer != probe_answer(handshake, key))
    return fail(Errc::network, "{}: another process listens there", to_string(to));
  return {};
}

} // namespace

void DataPlane::answer_probes(const std::string& ticket, const std::string& node,
                              milliseconds limit) {
  const auto key = probe_key(ticket);
  listener_->answer(key, link_proof(key, probed_link(node)), Clock::now() + limit);
}

Status DataPlane::probe(const std::string& node, const Endpoint& to, const std::string& ticket,
                        milliseconds limit) const {
  const auto end = Clock::now() + limit;
  const auto key = probe_key(ticket);
  const auto link = probed_link(node);
  while (true) {
    const auto answered = ask_port(listener_->tls(), to, key, link, end, probes_ended_);
    if (answered || Clock::now() + pause_between_probes >= end)
      return answered;
    pollfd waiting{probes_ended_.number(), POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(pause_between_probes.count())) > 0)
      return answered;
  }
}

} // namespace troupe::collectives
