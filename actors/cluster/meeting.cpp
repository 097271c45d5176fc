#include "meeting.hpp"

#include "troupe/core/fail.hpp"

namespace troupe::actors {

Status introduce(const Caller& caller, const engine::Voter& self, const voter_actor& voter,
                 const std::string& address) {
  TROUPE_TRY(const auto daemon, connect(caller.system, *parse_endpoint(address), caller.network,
                                        caller.limit));
  Status met;
  caf::scoped_actor here{caller.system};
  here->request(daemon, caller.limit, atom::join_v, self, peer_actor{voter})
      .receive(
          [&](const engine::Voter& who, const peer_actor& peer) {
            caf::anon_send(voter, atom::join_v, who, peer);
          },
          [&](const caf::error& error) {
            met = fail(Errc::network, "{} is not met: {}", address, caf::to_string(error));
          });
  return met;
}

} // namespace troupe::actors
