/// How VOTERs of two daemons come to have a connection of their own.
#pragma once

#include "network.hpp"

#include <chrono>
#include <string>

namespace troupe::actors {

struct Caller {
  caf::actor_system& system;
  const NetworkOptions& network;
  std::chrono::milliseconds limit; ///< of each exchange
};

/// Has the VOTER of this daemon and that of the one at an address know each other, on a thread of
/// its own: VoterSetup::meet. The network options outlive it.
void introduce(const Caller& caller, const engine::Voter& self, const voter_actor& voter,
               const std::string& address);

} // namespace troupe::actors
