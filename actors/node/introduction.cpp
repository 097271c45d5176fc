#include "actors/node/introduction.hpp"

#include "core/fail.hpp"
#include "core/net/peer_endpoint.hpp"

#include <tuple>

namespace troupe::actors {

namespace {

/// Blocks. Errors: those of connect(); network if the daemon does not answer.
Status exchange_peers(const Caller& caller, const training::Voter& self,
                      const consensus_actor& consensus, const std::string& address) {
  TROUPE_TRY(const auto daemon,
             connect(caller.system, net::peer_endpoint(address), caller.network, caller.limit));
  Status met;
  caf::scoped_actor here{caller.system};
  here->request(daemon, caller.limit, atom::introduce_v, self, peer_actor{consensus})
      .receive(
          [&](const training::Voter& who, const peer_actor& peer) {
            caf::anon_send(consensus, atom::introduce_v, who, peer);
          },
          [&](const caf::error& error) {
            met = fail(Errc::network, "{} did not answer: {}", address, caf::to_string(error));
          });
  return met;
}

} // namespace

void introduce(const Caller& caller, const training::Voter& self, const consensus_actor& consensus,
               const std::string& address) {
  caller.system.spawn<caf::detached>([=] {
    std::ignore = exchange_peers(caller, self, consensus, address); // CONSENSUS tries again
    caf::anon_send(consensus, atom::introduce_v, address);
  });
}

} // namespace troupe::actors
