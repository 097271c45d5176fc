#include "actors/cluster/meeting.hpp"

#include "core/fail.hpp"
#include "core/net/peer_endpoint.hpp"

#include <tuple>

namespace troupe::actors {

namespace {

/// Blocks. Errors: those of connect(), network where it does not answer.
Status meet(const Caller& caller, const engine::Voter& self, const voter_actor& voter,
            const std::string& address) {
  TROUPE_TRY(const auto daemon,
             connect(caller.system, net::peer_endpoint(address), caller.network, caller.limit));
  Status met;
  caf::scoped_actor here{caller.system};
  here->request(daemon, caller.limit, atom::join_v, self, peer_actor{voter})
      .receive([&](const engine::Voter& who,
                   const peer_actor& peer) { caf::anon_send(voter, atom::join_v, who, peer); },
               [&](const caf::error& error) {
                 met = fail(Errc::network, "{} did not answer: {}", address, caf::to_string(error));
               });
  return met;
}

} // namespace

void introduce(const Caller& caller, const engine::Voter& self, const voter_actor& voter,
               const std::string& address) {
  caller.system.spawn<caf::detached>([=] {
    std::ignore = meet(caller, self, voter, address); // it is tried again
    caf::anon_send(voter, atom::done_v, address);
  });
}

} // namespace troupe::actors
