/// What a node has by itself of a state that a generation had divided: the shards of its ranks and
/// those that they keep copies of, in the host's memory and as the device stores them.
#pragma once

#include "core/checkpoint/checkpoint.hpp"
#include "core/checkpoint/tensor_part.hpp"
#include "engine/seat.hpp"

#include <memory>
#include <span>
#include <vector>

namespace troupe::engine {

struct HeldTensorPart {
  std::int32_t shard = -1; ///< below 0: statistics, of which everybody has all
  TensorPart what;

  bool is_statistic() const { return shard < 0; }
};

struct HeldPart {
  HeldTensorPart what;
  std::span<const float> values; ///< in HeldState::storage
};

struct HeldState {
  CheckpointHeader header; ///< without tensors
  HeldShards shards;
  std::vector<HeldPart> parts; ///< of the shards; and all statistics
  std::vector<std::shared_ptr<const float[]>> storage;

  bool holds(std::int32_t shard) const;
  /// A shard's values, in the order of its parts.
  void add(std::int32_t shard, std::vector<TensorPart> more, std::shared_ptr<const float[]> values);
};

/// By step: one, or two where ranks may be asked to go on from either.
using HeldStates = std::vector<std::shared_ptr<const HeldState>>;

/// Those of the state that a generation has begun with: all of its ranks have applied that.
HeldStates begun_with(const HeldStates& held, std::int64_t step);

/// Null: there is none of this step, and so divided.
std::shared_ptr<const HeldState> find_held(const HeldStates& held, std::int64_t step,
                                           std::int32_t shards);

} // namespace troupe::engine
