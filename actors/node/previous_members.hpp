/// Finds out whether other nodes continue a job that this daemon would begin again.
#pragma once

#include "actors/membership/members_file.hpp"
#include "actors/node/joining.hpp"

#include <optional>

namespace troupe::actors {

/// Whether the node at this address should begin a job if none runs: cluster.join is empty, or has
/// several addresses and this one is the first.
bool may_begin(const ClusterConfig& cluster, const std::string& address);

/// Returns the job of the nodes that this one trained with before (`before`, or a later record that
/// one of them knows), or of cluster.join. Empty: this node may begin one, because no node that
/// answers has a job; all that answer, and a quorum of cluster.join, expect this node to begin it;
/// and the voters that may still live are not a quorum, or none of them trains. Blocks, and asks
/// until the quorum timeout. Errors: network, with the condition that does not hold; stopped.
Result<std::optional<JobHandle>> find_running_job(const JoinContext& context, Members before);

} // namespace troupe::actors
