/// One rank of a generation, and what lives on its device. Made before the actors, outlives them;
/// the WORKER and the SHARD MANAGER of the rank use their parts of it and nobody else does.
#pragma once

#include "collectives/communicator.hpp"
#include "training/compiled_job.hpp"
#include "training/state/model_state.hpp"

#include <memory>

namespace troupe::training {

struct RankState {
  int rank = 0;
  std::shared_ptr<CompiledWorker> compiled;
  std::shared_ptr<ModelState> state; ///< SHARD MANAGER
  /// What its node held of the state before: until a step is committed, as other nodes may not have
  /// come so far, and have nothing else to go on from. SHARD MANAGER lets it go.
  std::shared_ptr<const RetainedStates> before = nullptr;
  // SHARD MANAGER. All ranks; those that hold one copy of the state together; those of a team that
  // hold the same shard of it (collectives/strategy.hpp). May be one and the same.
  std::shared_ptr<collectives::Communicator> world, shard_group, replicate_group;
  /// The ranks of all teams that have this one's place in theirs; null where all train together.
  std::shared_ptr<collectives::Communicator> across;
  /// All ranks again, for train() on the compute stream; where batch norm is synchronized, else
  /// null.
  std::shared_ptr<collectives::Communicator> statistics_group;
  // Streams last: they are drained before what they work on goes.
  std::shared_ptr<Stream> compute; ///< WORKER
  std::shared_ptr<Stream>
      communication; ///< SHARD MANAGER; a single rank has nothing to overlap and shares `compute`
  std::shared_ptr<Stream> copies, updates; ///< SHARD MANAGER, where state is offloaded; else null
  std::shared_ptr<Stream> owner; ///< SHARD MANAGER, where others write to it (Post); else null

  Device& device() const { return *compiled->device; }
  Executable& train() const { return *compiled->train; } ///< WORKER
  bool evaluates() const { return compiled->evaluate != nullptr; }
  Executable& evaluate() const { return *compiled->evaluate; } ///< WORKER

  /// Fails what waits for other ranks, and all that comes after it.
  void abort(const Error& reason) const {
    for (const auto& group : {world, shard_group, replicate_group, across, statistics_group})
      if (group)
        group->abort(reason);
  }
};

} // namespace troupe::training
