/// Checks that the nodes of a job share one checkpoint folder (checkpoint.state: sharded).
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "training/node_assignment.hpp"

#include <filesystem>

namespace troupe::training {

struct ResumePoint;

/// On the leader: creates the folder, and a probe file in it for the other nodes. Blocks. Errors:
/// io, no_space.
Result<SharedFolder> offer_folder(const std::filesystem::path& checkpoints,
                                  const ResumePoint& resume_point);

/// On another node: looks for the leader's probe in its folder, writes and removes a file, and
/// opens the checkpoint to resume from. Returns null for a new run. Blocks. Errors: invalid_input
/// if the folder is another one or cannot be written to; those of open_state.
Result<StateSourcePtr> enter_folder(const std::filesystem::path& checkpoints,
                                    const SharedFolder& shared, int node);

/// On the leader, after all nodes have entered: removes the probe. If a leader dies before this,
/// the next start of the run removes it (CheckpointStore::remove_temporaries).
void withdraw_offer(const std::filesystem::path& checkpoints, const SharedFolder& shared);

} // namespace troupe::training
