/// A node's shards of a generation's sharded state: those of its ranks, and the shard replicas that
/// they keep. They are in the host's memory, in the device's layout.
#pragma once

#include "core/checkpoint/checkpoint.hpp"
#include "core/checkpoint/tensor_part.hpp"
#include "training/node_assignment.hpp"

#include <memory>
#include <span>
#include <vector>

namespace troupe::training {

struct RetainedTensorPart {
  std::int32_t shard = -1; ///< below 0: statistics, which every rank has whole
  TensorPart what;

  bool is_statistic() const { return shard < 0; }
};

struct RetainedPart {
  RetainedTensorPart what;
  std::span<const float> values; ///< view into RetainedState::storage
};

struct RetainedState {
  CheckpointHeader header; ///< without tensors
  RetainedShards shards;
  std::vector<RetainedPart> parts; ///< of the retained shards, and all statistics
  std::vector<std::shared_ptr<const float[]>> storage;

  bool holds(std::int32_t shard) const;
  /// Adds a shard. `values`: its values, in the order of `more`.
  void add(std::int32_t shard, std::vector<TensorPart> more, std::shared_ptr<const float[]> values);
};

/// By step: one, or two if the job may resume from either.
using RetainedStates = std::vector<std::shared_ptr<const RetainedState>>;

/// Returns the states of `step`, which a generation started with: all of its ranks have applied
/// that step.
RetainedStates begun_with(const RetainedStates& retained, std::int64_t step);

/// Returns the state of this step that is divided into `shards`; null if none exists.
std::shared_ptr<const RetainedState> find_retained(const RetainedStates& retained,
                                                   std::int64_t step, std::int32_t shards);

} // namespace troupe::training
