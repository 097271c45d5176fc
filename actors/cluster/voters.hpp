/// The choice of the voters.
#pragma once

#include "actors/cluster/cluster_messages.hpp"

#include <vector>

namespace troupe::actors {

/// At most five, as each of them must be able to talk to all nodes: those that train, the leader
/// first; witnesses, as long as there is room; and a spare where their number would be even. With
/// an odd number one more voter would only make the quorum larger.
std::vector<engine::Voter> choose_voters(const std::vector<engine::Voter>& nodes,
                                         const std::vector<engine::Voter>& witnesses,
                                         const std::vector<engine::Voter>& spares);

} // namespace troupe::actors
