/// Copies a rank's state to the host's memory, chunk by chunk of a StatePlan: from the device, from
/// the host's offloaded memory, and from other ranks.
#pragma once

#include "collectives/communicator.hpp"
#include "training/state/model_state.hpp"

#include <cstddef>

namespace troupe::training {

/// Calls enqueue on the stream. Memory of a destination must live until the copy is done.
class StateCopier {
public:
  /// `shard_group`: the ranks that hold one copy of the state together; needed to gather.
  StateCopier(const ModelState& state, Stream& stream,
              collectives::Communicator* shard_group = nullptr)
      : state_{state}, stream_{stream}, shard_group_{shard_group} {}

  /// Copies a chunk from the memory of its bucket.
  void copy(const PlannedChunk& chunk, const BucketMemory& from, float* to) const;
  /// Copies a chunk from this rank's arrays, as executables read them.
  void copy(const PlannedChunk& chunk, float* to) const;
  /// Copies chunk `index` of StateLayout::written() from this rank. Without such a chunk, no
  /// values: with DataParallel, ranks other than 0 have no state.
  void copy_written(std::size_t index, StateChunk& to) const;

  // All ranks make the same calls, in the order of the plan; ranks other than 0 pass null.

  /// Gathers chunk `index` of StateLayout::whole() at rank 0. Needs memory for one chunk, and that
  /// of gradients, which is free between steps.
  void gather(std::size_t index, StateChunk* to) const;
  /// Copies all chunks that this rank writes, gathering them if rank 0 writes the whole state.
  void take(Snapshot* to) const;

private:
  const StateLayout& layout() const { return state_.layout(); }
  float* begin(std::size_t index, std::size_t elements, StateChunk& to) const;
  void gather(const PlannedChunk& chunk, const PlannedChunk* before, float* to) const;
  void gather_bucket(const PlannedChunk& chunk, bool here) const;

  const ModelState& state_;
  Stream& stream_;
  collectives::Communicator* shard_group_;
};

} // namespace troupe::training
