/// The choice of the voters.
#pragma once

#include "actors/cluster_messages.hpp"

#include <vector>

namespace troupe::actors {

/// Returns at most five voters, because each must be able to reach all nodes: the nodes that train,
/// the leader first; witnesses while there is room; and a spare if their number would be even. An
/// even number of voters needs a larger quorum and tolerates no more losses.
std::vector<training::Voter> choose_voters(const std::vector<training::Voter>& nodes,
                                           const std::vector<training::Voter>& witnesses,
                                           const std::vector<training::Voter>& spares);

} // namespace troupe::actors
