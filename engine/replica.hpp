/// One rank's device and everything that lives on it. Made before the actors, outlives them; the
/// WORKER and the SHARD MANAGER of the rank use their parts of it and nobody else does.
#pragma once

#include "state/model_state.hpp"

#include "troupe/collectives/communicator.hpp"
#include "troupe/nn/passes/format_input.hpp"

#include <memory>

namespace troupe::engine {

struct Replica {
  int rank = 0;
  std::shared_ptr<Device> device;
  std::shared_ptr<ModelState> state;           ///< SHARD MANAGER
  std::unique_ptr<Executable> train, evaluate; ///< WORKER; evaluate is null when it never happens
  nn::InputFormat input;                       ///< of both
  // SHARD MANAGER. All ranks; those that hold one copy of the state together; those that hold
  // the same shard of it (collectives/strategy.hpp). May be one and the same.
  std::shared_ptr<collectives::Communicator> world, shard_group, replica_group;
  /// All ranks again, for `train` on the compute stream; where batch norm is synchronized, else
  /// null.
  std::shared_ptr<collectives::Communicator> statistics_group;
  // Streams last: they are drained before what they work on goes.
  std::shared_ptr<Stream> compute; ///< WORKER
  std::shared_ptr<Stream>
      communication; ///< SHARD MANAGER; a single rank has nothing to overlap and shares `compute`
  // SHARD MANAGER, where state is offloaded; else null (host_optimizer.hpp).
  std::shared_ptr<Device> host; ///< where it is updated; the device itself, if that is the host
  std::shared_ptr<Stream> copies, updates;

  /// Fails what waits for other ranks, and all that comes after it.
  void abort(const Error& reason) const {
    for (const auto& group : {world, shard_group, replica_group, statistics_group})
      if (group)
        group->abort(reason);
  }
};

} // namespace troupe::engine
