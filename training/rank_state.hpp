/// One rank of a generation, and the objects that live on its device. Created before the actors,
/// and outlives them. Only the rank's WORKER and SHARD MANAGER, and the node's DATA LOADER, use it:
/// each its own parts.
#pragma once

#include "collectives/communicator.hpp"
#include "training/compiled_job.hpp"
#include "training/input/batch_producers.hpp"
#include "training/state/model_state.hpp"

#include <memory>

namespace troupe::training {

/// Whether backward adds the gradients of a rank's slices of a step; otherwise, SHARD MANAGER does.
inline bool backward_adds(const Strategy& strategy, const Executable& train) {
  return strategy.keeps_gradients() && train.adds_gradients();
}

/// Returns the mode for a rank's slice of a step by its local index. The first slice overwrites the
/// gradients of the step before.
inline GradientMode gradient_mode(const Strategy& strategy, const Executable& train,
                                  int local_index) {
  return local_index > 0 && backward_adds(strategy, train) ? GradientMode::add
                                                           : GradientMode::overwrite;
}

struct RankState {
  int rank = 0;
  std::shared_ptr<CompiledWorker> compiled;
  std::shared_ptr<ModelState> state; ///< used by SHARD MANAGER
  BatchProducers producers = {};     ///< used by the node's DATA LOADER
  /// The node's retained shards of the initial state. Kept until a step is committed, because other
  /// nodes may still be at that state and have no other copy. Released by SHARD MANAGER.
  std::shared_ptr<const RetainedStates> before = nullptr;
  // Communicators of SHARD MANAGER: all ranks; the ranks that hold one copy of the state together;
  // the ranks of a replica group that hold the same shard (training/strategy.hpp). May be the
  // same object.
  std::shared_ptr<collectives::Communicator> world, shard_group, replicate_group;
  /// The ranks with the same place in each replica group. Null if all ranks train together.
  std::shared_ptr<collectives::Communicator> across;
  /// All ranks again, for train() on the compute stream. Null unless batch norm is synchronized.
  std::shared_ptr<collectives::Communicator> statistics_group;
  // Streams are declared last: they drain before the objects that they work on are destroyed.
  std::shared_ptr<Stream> compute;         ///< used by WORKER
  std::shared_ptr<Stream> communication;   ///< used by SHARD MANAGER; a single rank has nothing to
                                           ///< overlap and shares `compute`
  std::shared_ptr<Stream> copies, updates; ///< used by SHARD MANAGER for offloading; else null
  std::shared_ptr<Stream> owner; ///< used by SHARD MANAGER for PointToPoint messages; else null

  Device& device() const { return *compiled->device; }
  Executable& train() const { return *compiled->train; } ///< used by WORKER
  bool evaluates() const { return compiled->evaluate != nullptr; }
  Executable& evaluate() const { return *compiled->evaluate; } ///< used by WORKER

  /// Fails all operations that wait for other ranks, and all later ones.
  void abort(const Error& reason) const {
    for (const auto& group : {world, shard_group, replicate_group, across, statistics_group})
      if (group)
        group->abort(reason);
  }
};

} // namespace troupe::training
