/// Sends a state to nodes that lack it, over the data plane, in chunks with digests. Blocking
/// calls, for a dedicated thread.
#pragma once

#include "actors/node/detail/checkpoint_chunks.hpp"
#include "collectives/data_plane/connection_group.hpp"
#include "core/checkpoint/checkpoint.hpp"
#include "core/config/cluster.hpp"
#include "training/node_assignment.hpp"

#include <functional>
#include <string>

namespace troupe::actors {

/// Sends the state from the generation's source to all nodes that lack it, in parallel. Returns
/// when all have it and know that all have it. Calls `arrived`, on any thread, when a node has it.
/// Error: network.
Status send_checkpoint(collectives::ConnectionGroup& connection_group,
                       const training::GenerationRecord& generation, const CheckpointChunks& chunks,
                       const TimeoutsConfig& timeouts, const std::function<void()>& arrived);

/// Receives the state on a node that lacks it. Returns when all nodes have it. `say` logs the
/// progress. Errors: network; corrupt.
Result<Checkpoint> fetch_checkpoint(collectives::ConnectionGroup& connection_group,
                                    const training::NodeAssignment& assignment,
                                    const TimeoutsConfig& timeouts,
                                    const std::function<void(const std::string&)>& say);

} // namespace troupe::actors
