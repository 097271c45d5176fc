/// The choice of the voters.
#pragma once

#include "actors/cluster_messages.hpp"

#include <vector>

namespace troupe::actors {

/// At most five, as each of them must be able to talk to all nodes: those that train, the leader
/// first; witnesses, as long as there is room; and a spare where their number would be even. With
/// an odd number one more voter would only make the quorum larger.
std::vector<training::Voter> choose_voters(const std::vector<training::Voter>& nodes,
                                           const std::vector<training::Voter>& witnesses,
                                           const std::vector<training::Voter>& spares);

} // namespace troupe::actors
