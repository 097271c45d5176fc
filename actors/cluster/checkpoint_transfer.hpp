/// Sends a state to nodes that lack it: over the data plane, in chunks with their digests. Blocking
/// calls, for a thread of their own.
#pragma once

#include "detail/checkpoint_pieces.hpp"

#include "troupe/collectives/tcp/data_plane.hpp"
#include "troupe/core/checkpoint/checkpoint.hpp"
#include "troupe/core/config/cluster.hpp"
#include "troupe/engine/seat.hpp"

#include <functional>
#include <string>

namespace troupe::actors {

/// To all nodes that lack it at a time, from the generation's source. Returns when all have it, and
/// know that all have. `arrived` is called, from any thread, when one has. Error: network.
Status send_checkpoint(collectives::Meeting& meeting, const engine::GenerationRecord& generation,
                       const CheckpointPieces& pieces, const TimeoutsConfig& timeouts,
                       const std::function<void()>& arrived);

/// On a node that lacks it. Returns when all have it. `say` tells a person how far it is.
/// Errors: network; corrupt.
Result<Checkpoint> fetch_checkpoint(collectives::Meeting& meeting, const engine::Seat& seat,
                                    const TimeoutsConfig& timeouts,
                                    const std::function<void(const std::string&)>& say);

} // namespace troupe::actors
