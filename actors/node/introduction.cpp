#include "actors/node/introduction.hpp"

#include "core/net/peer_endpoint.hpp"

namespace troupe::actors {

/// CONSENSUS tries again after an error.
void introduce(const Caller& caller, const training::Voter& self, const consensus_actor& consensus,
               const std::string& address) {
  caller.system.spawn<caf::detached>([=] {
    if (const auto daemon =
            connect(caller.system, net::peer_endpoint(address), caller.network, caller.limit)) {
      caf::scoped_actor here{caller.system};
      here->request(*daemon, caller.limit, atom::introduce_v, self, peer_actor{consensus})
          .receive(
              [&](const training::Voter& who, const peer_actor& peer) {
                caf::anon_send(consensus, atom::introduce_v, who, peer);
              },
              [](const caf::error&) {});
    }
    caf::anon_send(consensus, atom::introduce_v, address);
  });
}

} // namespace troupe::actors
