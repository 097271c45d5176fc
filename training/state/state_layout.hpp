/// Layout of a rank's state: which range of which array is where, and in which order it is saved.
/// A pure function of its arguments, without memory.
#pragma once

#include "core/device/executable.hpp"
#include "core/device/loss_scale.hpp"
#include "training/state/flat_range.hpp"
#include "training/state/rate_ranges.hpp"
#include "training/state/state_plan.hpp"
#include "training/strategy.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::training {

/// Key of the loss scale's state in a checkpoint's metadata.
inline constexpr const char* loss_scale_key = "loss_scale";

/// Returns the names of an optimizer's state slots in checkpoints. They are PyTorch's: momentum;
/// exp_avg, exp_avg_sq.
std::vector<std::string_view> optimizer_slot_names(const OptimizerArguments& optimizer);

struct StateOptions {
  std::vector<std::string_view> optimizer_slots;
  bool accumulate = false;                         ///< allocates memory to sum the passes of a step
  bool keeps_statistics = false;                   ///< allocates memory for Statistics::keep
  bool commits_statistics = false;                 ///< allocates memory for Statistics::committed
  std::optional<LossScaleOptions> loss_scale = {}; ///< initial state; empty: no scaling
  DType stored = DType::f32; ///< loaded values are rounded to it (stored_type)
  Strategy strategy = {};
  int rank = 0;
  std::vector<UnitRange> buckets = {}; ///< from wrap_units; empty: one bucket
  /// By parameter (nn::parameter_rates). Empty: all parameters are trained and decay.
  std::vector<nn::ParameterRate> rates = {};
  /// Every rank saves its part of a sharded checkpoint; false: rank 0 saves the whole state.
  bool saves_shard = false;
  bool snapshots = false; ///< allocates memory for a copy of the values that this rank saves
  /// Keeps the inputs of a prepared step after the stream fails, so that this rank can apply a step
  /// that other ranks have applied.
  bool prepares = false;
  std::optional<int> replica_rank_of = {}; ///< rank whose shard this rank replicates
  bool keeps_base = false;     ///< keeps a copy of the last common state while ranks train apart
  bool outer_momentum = false; ///< adds a slot: momentum of DiLoCo's outer optimizer
};

/// Returns the elements of a snapshot's memory, at least those of all chunks that `rank` writes.
std::size_t snapshot_elements(const FlatPlan& plan, const Strategy& strategy, int rank,
                              bool saves_shard, std::size_t statistics, std::size_t slots);

/// The optimizer of a rank updates its *part* of a bucket: its shard, or the whole bucket if the
/// optimizer's state is not divided. The optimizer's arrays contain these parts of all buckets, in
/// sequence; those of a replica (OptimizerPart) contain the parts of another shard.
class StateLayout {
public:
  StateLayout(const StorageLayout& storage, const StateOptions& options);
  StateLayout(const StateLayout&) = delete; // plans refer to the slots
  StateLayout& operator=(const StateLayout&) = delete;

  const StorageLayout& storage() const { return storage_; }
  const FlatPlan& plan() const { return plan_; }
  const Strategy& strategy() const { return strategy_; }
  /// The type that values of all buffers are rounded to; memory stays f32.
  DType stored() const { return stored_; }
  int rank() const { return rank_; }
  /// Index of this rank's shard of each bucket.
  std::size_t shard() const { return static_cast<std::size_t>(strategy_.shard_of(rank_)); }

  /// Names of the optimizer values for each parameter, including those on other ranks.
  const std::vector<std::string>& slots() const { return slots_; }
  /// Number of slots before the outer optimizer's.
  std::size_t inner_slots() const { return inner_slots_; }
  bool has_optimizer() const { return !strategy_.root_only || rank_ == 0; }

  /// Whether the strategy divides an array (state_plan.hpp) among ranks.
  bool is_divided(std::size_t array) const;
  std::size_t number_of(const Bucket& bucket) const {
    return plan_.bucket_of[static_cast<std::size_t>(bucket.units.first)];
  }
  /// Returns the place of a slot or range in the flat space or, for statistics, among those.
  FlatRange place_of(const Slot& slot) const;
  FlatRange place_of(const StateRange& range) const;
  /// Returns the part of a bucket that this rank's optimizer updates, or that of another shard, in
  /// the flat space.
  FlatRange part(const Bucket& bucket) const { return part(bucket, shard()); }
  FlatRange part(const Bucket& bucket, std::size_t shard) const;
  /// Returns the offset of that part in the optimizer's arrays.
  std::size_t offset(const Bucket& bucket) const;
  /// Number of elements of the optimizer's arrays that are not offloaded, which are the first, and
  /// of a bucket's part.
  std::size_t kept() const { return kept_; }
  std::size_t kept(const Bucket& bucket) const;
  /// Elements of the optimizer's arrays.
  std::size_t part_elements() const { return elements(strategy_.divides_optimizer); }
  /// Elements of this rank's part of the flat space: a shard if `divided`.
  std::size_t elements(bool divided) const {
    return divided ? plan_.shard_elements() : plan_.elements;
  }

  const RateRanges& rates() const { return rates_; }
  /// Gaps in the gradients of part() if buckets share the memory of fresh gradients: they contain
  /// another bucket's values.
  std::vector<FlatRange> foreign_gaps(const Bucket& bucket) const;
  /// Whether no rank trains any of its parameters.
  bool is_frozen(const Bucket& bucket) const {
    return rates_.is_frozen(bucket.offset, bucket.elements);
  }
  bool is_frozen(UnitId unit) const;
  /// Returns is_frozen of each bucket.
  std::vector<bool> frozen_buckets() const;
  /// Whether backward passes through the bucket: it or a unit below it is trained.
  bool has_backward(const Bucket& bucket) const {
    return !rates_.is_frozen(0, bucket.offset + bucket.elements);
  }

  /// The whole state, in the order in which rank 0 gathers it.
  const StatePlan& whole() const { return whole_; }
  /// The chunks that this rank writes to files: of the whole state or of its part.
  const StatePlan& written() const { return own_ ? *own_ : whole_; }
  bool saves_shard() const { return own_.has_value(); }
  /// A shard as a rank holds it.
  StatePlan plan_shard(std::size_t shard) const;
  /// Returns the header of a checkpoint of this state. The caller fills `step` and the rest of the
  /// metadata.
  CheckpointHeader describe(const std::optional<LossScaleState>& loss_scale) const;

private:
  StorageLayout storage_;
  Strategy strategy_;
  int rank_;
  FlatPlan plan_;
  std::vector<std::string> slots_;
  std::size_t inner_slots_;
  DType stored_;
  std::size_t kept_;
  RateRanges rates_;
  std::vector<FlatRange> gaps_;
  StatePlan whole_;
  std::optional<StatePlan> own_; ///< of the rank's part, if it saves that
};

} // namespace troupe::training
