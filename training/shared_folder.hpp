/// Whether the nodes of a job see one folder of checkpoints (checkpoint.state: sharded).
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "training/node_assignment.hpp"

#include <filesystem>

namespace troupe::training {

struct ResumePoint;

/// The leader: makes the folder, and a file in it for the others to find. Blocks. Errors: io,
/// no_space.
Result<SharedFolder> offer_folder(const std::filesystem::path& checkpoints,
                                  const ResumePoint& resume_point);

/// Another node: finds the leader's file in what it takes for the same folder, writes one of its
/// own, and opens the checkpoint that the job goes on from; null: it is not there. Blocks. Errors:
/// invalid_input, where the folder is another one or cannot be written to; those of open_state.
Result<StateSourcePtr> enter_folder(const std::filesystem::path& checkpoints,
                                    const SharedFolder& shared, int node);

/// The leader, once all have entered. The file of one that dies before that goes when the run
/// begins the next time (CheckpointStore::remove_temporaries).
void withdraw_offer(const std::filesystem::path& checkpoints, const SharedFolder& shared);

} // namespace troupe::training
