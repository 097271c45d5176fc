/// Who decides on the next generation.
#pragma once

#include "cluster_messages.hpp"

#include <vector>

namespace troupe::actors {

/// The first five nodes, the leader first, and witnesses as long as there are fewer: who decides
/// must be able to talk to all others.
std::vector<engine::Voter> choose_voters(const std::vector<NodeInfo>& nodes,
                                         const std::vector<NodeInfo>& witnesses);

} // namespace troupe::actors
