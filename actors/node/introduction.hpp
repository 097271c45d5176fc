/// Connects the CONSENSUS actors of two daemons with each other.
#pragma once

#include "actors/node/network.hpp"

#include <chrono>
#include <string>

namespace troupe::actors {

struct Caller {
  caf::actor_system& system;
  const NetworkOptions& network;
  std::chrono::milliseconds limit; ///< of each exchange
};

/// Gives the CONSENSUS actors of this daemon and of the daemon at `address` handles of each other,
/// on a new thread (ConsensusSetup::meet). Precondition: the network options outlive that thread.
void introduce(const Caller& caller, const training::Voter& self, const consensus_actor& consensus,
               const std::string& address);

} // namespace troupe::actors
