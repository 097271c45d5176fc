/// What a node has by itself of a state that a generation had divided: the shards of its ranks and
/// those that they keep copies of, in the host's memory and as the device stores them.
#pragma once

#include "core/checkpoint/checkpoint.hpp"
#include "core/checkpoint/tensor_part.hpp"
#include "training/node_assignment.hpp"

#include <memory>
#include <span>
#include <vector>

namespace troupe::training {

struct RetainedTensorPart {
  std::int32_t shard = -1; ///< below 0: statistics, of which everybody has all
  TensorPart what;

  bool is_statistic() const { return shard < 0; }
};

struct RetainedPart {
  RetainedTensorPart what;
  std::span<const float> values; ///< in RetainedState::storage
};

struct RetainedState {
  CheckpointHeader header; ///< without tensors
  RetainedShards shards;
  std::vector<RetainedPart> parts; ///< of the shards; and all statistics
  std::vector<std::shared_ptr<const float[]>> storage;

  bool holds(std::int32_t shard) const;
  /// A shard's values, in the order of its parts.
  void add(std::int32_t shard, std::vector<TensorPart> more, std::shared_ptr<const float[]> values);
};

/// By step: one, or two where ranks may be asked to go on from either.
using RetainedStates = std::vector<std::shared_ptr<const RetainedState>>;

/// Those of the state that a generation has begun with: all of its ranks have applied that.
RetainedStates begun_with(const RetainedStates& retained, std::int64_t step);

/// Null: there is none of this step, and so divided.
std::shared_ptr<const RetainedState> find_retained(const RetainedStates& retained,
                                                   std::int64_t step, std::int32_t shards);

} // namespace troupe::training
