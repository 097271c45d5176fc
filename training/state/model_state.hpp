/// The flat buffers of one rank in its device's memory. Owned by the SHARD MANAGER.
#pragma once

#include "collectives/strategy.hpp"
#include "core/checkpoint/state_source.hpp"
#include "core/device/executable.hpp"
#include "training/state/detail/saved_state.hpp"
#include "training/state/flat_gaps.hpp"
#include "training/state/host_shard.hpp"
#include "training/state/prepared.hpp"
#include "training/state/rate_ranges.hpp"
#include "training/state/shard_replica.hpp"
#include "training/state/snapshot.hpp"
#include "training/state/state_base.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace troupe::training {

/// Key of the loss scale's state in a checkpoint's metadata.
inline constexpr const char* loss_scale_key = "loss_scale";

/// Returns the names of an optimizer's state slots in checkpoints. They are PyTorch's: momentum;
/// exp_avg, exp_avg_sq.
std::vector<std::string_view> optimizer_slot_names(const OptimizerArguments& optimizer);

/// Buffers of a rank, divided as the strategy says. An undivided buffer holds all units, in the
/// flat space of collectives::FlatPlan. A divided buffer holds this rank's shard; executables then
/// read gathered parameters and write fresh gradients in a window of a few buckets.
class ModelState {
public:
  struct Options {
    std::vector<std::string_view> optimizer_slots;
    bool accumulate = false;         ///< allocates memory to sum the passes of a step
    bool keeps_statistics = false;   ///< allocates memory for keep_statistics
    bool commits_statistics = false; ///< allocates memory for committed_statistics
    std::optional<LossScaleOptions> loss_scale = {}; ///< initial state; empty: no scaling
    DType stored = DType::f32; ///< loaded values are rounded to it (stored_type)
    collectives::Strategy strategy = {};
    int rank = 0;
    std::vector<collectives::UnitRange> buckets = {}; ///< from wrap_units; empty: one bucket
    /// By parameter (nn::parameter_rates). Empty: all parameters are trained and decay.
    std::vector<nn::ParameterRate> rates = {};
    /// Every rank saves its part of a sharded checkpoint; false: rank 0 saves the whole state.
    bool saves_shard = false;
    bool snapshots = false; ///< allocates memory for a copy of the values that this rank saves
    /// Keeps the inputs of a prepared step after the stream fails, so that this rank can apply a
    /// step that other ranks have applied.
    bool prepares = false;
    std::optional<int> replica_rank_of = {}; ///< rank whose shard this rank replicates
    bool keeps_base = false;     ///< keeps a copy of the last common state while ranks train apart
    bool outer_momentum = false; ///< adds a slot: momentum of DiLoCo's outer optimizer
  };

  /// Elements, in units of fp32, of: a norm, a clipping factor, two values for votes, and two step
  /// counts (applied and prepared).
  static constexpr std::size_t scratch_elements = 10;
  /// Number of steps whose committed_statistics are kept: the in-flight steps, and the step before
  /// them, which remains the last committed one if none of them gets all votes. Asynchronous
  /// training keeps twice as many, because a rank may still read the statistics of an older step.
  static std::int64_t committed_turns(const collectives::Strategy& strategy);

  static Result<std::shared_ptr<ModelState>> create(Device& device, const StorageLayout& layout,
                                                    const Options& options);

  /// Loads this rank's part of the state: parameters, statistics and, if present, optimizer state
  /// and loss scale. Needs extra memory for one tensor at a time. Blocks: only for set-up. Errors:
  /// a tensor is missing or has another shape (the error names it); those of reading.
  Status load(Stream& stream, const StateSource& source);

  /// Chunks of the whole state, in the order in which rank 0 gathers them.
  const std::vector<SavedChunk>& saved() const { return saved_; }
  /// Chunks that this rank writes to files, in this order: of the whole state or of its part.
  const std::vector<SavedChunk>& written() const { return saves_shard_ ? saved_shard_ : saved_; }
  bool saves_shard() const { return saves_shard_; }
  /// Number of optimizer values for each parameter, including those on other ranks.
  std::size_t saved_slots() const { return optimizer_slots_.size(); }
  /// Whether the strategy divides an array (saved_state.hpp) among ranks.
  bool is_divided(std::size_t array) const;
  /// Returns the offset of a range in its whole array, even if this rank has only a shard of it.
  std::size_t place_of(const SavedRange& range) const;
  /// Enqueues a copy of a range to the host's memory. Precondition: this rank has the range.
  void copy_range(Stream& stream, const SavedRange& range, float* to) const;
  /// Enqueues a copy to the snapshot: of this rank's part of a bucket, or of all statistics.
  void copy_bucket(Stream& stream, std::size_t array, std::size_t bucket) const;
  void copy_statistics(Stream& stream) const;
  /// Enqueues a copy to `to`, which must live until the copy is done. `to` stays empty if losses
  /// are not scaled.
  void copy_loss_scale(Stream& stream, std::optional<LossScaleState>& to) const;
  /// Returns the address of a written range in the snapshot. Only with Options::snapshots.
  float* in_snapshot(const SavedRange& range) const;
  /// Returns the address of a bucket's part of an array in the snapshot.
  float* in_snapshot(std::size_t array, std::size_t bucket) const;
  /// Enqueues a copy to the host's memory of a range of this rank's shard, or of the shard that it
  /// replicates. The values are those that the rank's optimizer wrote last, whether published to
  /// other ranks or not.
  void copy_of_shard(Stream& stream, const SavedRange& range, float* to) const;
  void copy_of_replica(Stream& stream, const SavedRange& range, float* to) const;
  static std::size_t snapshot_elements(std::size_t parameters, std::size_t statistics,
                                       std::size_t slots);
  /// Returns the elements of the flat space that rank 0 writes.
  static std::size_t saved_elements(const collectives::FlatPlan& plan,
                                    const collectives::Strategy& strategy, bool saves_shard);
  /// Returns the header of a checkpoint of this state. The caller fills `step` and the rest of the
  /// metadata.
  CheckpointHeader describe(const std::optional<LossScaleState>& loss_scale) const;
  /// Returns the tensor parts in this rank's file of a sharded checkpoint.
  std::vector<TensorPart> describe_shard() const;
  /// Returns the tensor parts in chunks of this state.
  std::vector<TensorPart> describe_chunks(std::span<const SavedChunk> chunks) const;

  const StorageLayout& layout() const { return layout_; }
  const collectives::FlatPlan& plan() const { return plan_; }
  const collectives::Strategy& strategy() const { return strategy_; }
  /// The type that values of all buffers are rounded to; memory stays f32.
  DType stored() const { return stored_; }
  std::size_t optimizer_slots() const { return inner_slots_; }

  // Addresses at which executables read parameters and write gradients. Buckets share the memory of
  // a window.
  float* parameters(UnitId unit) const { return at(parameters_of_, unit); }
  float* gradients(UnitId unit) const { return at(gradients_of_, unit); }
  float* parameters(const collectives::Bucket& bucket) const {
    return parameters(bucket.units.first);
  }
  float* gradients(const collectives::Bucket& bucket) const {
    return gradients(bucket.units.first);
  }

  /// Sum of a step's passes: of a unit's gradients or, if sums_shards(), of this rank's shard of a
  /// bucket. The other of the two is null. Both are null without Options::accumulate.
  float* accumulated(UnitId unit) const;
  float* accumulated(const collectives::Bucket& bucket) const;
  bool sums_shards() const { return strategy_.sums_shards(); }

  /// Makes the optimizer also write these copies of parameters; chunks refer to them from now on.
  /// No effect (writes_copies() stays false) unless this rank's optimizer updates all parameters on
  /// the device.
  void write(const ParameterCopies& copies);
  bool writes_copies() const { return copies_.data != nullptr; }

  /// The elements of a bucket that this rank's optimizer updates: its shard, or the whole bucket.
  /// Gradients are always on the device; offloaded state and parameters are not.
  OptimizerViews chunk(const collectives::Bucket& bucket) const;
  /// The elements of chunk() that the device's optimizer updates, and those that the host's does.
  OptimizerViews kept_chunk(const collectives::Bucket& bucket) const;
  HostChunk host_chunk(const collectives::Bucket& bucket) const;
  /// Gaps in chunk()'s gradients (flat_gaps.hpp) if buckets share the memory of fresh gradients:
  /// they contain another bucket's values.
  std::vector<FlatGap> foreign_gradients(const collectives::Bucket& bucket) const;
  /// The trained elements of kept_chunk() and host_chunk(), divided where the learning rate's
  /// factor changes.
  std::vector<OptimizerChunk> kept_chunks(const collectives::Bucket& bucket) const;
  std::vector<OptimizerChunk> host_chunks(const collectives::Bucket& bucket) const;
  /// Trained elements of all buckets, in as few views as possible: adjacent ones are joined.
  std::vector<OptimizerChunk> chunks() const { return in_few_views(&ModelState::chunk); }
  std::vector<OptimizerChunk> kept_chunks() const { return in_few_views(&ModelState::kept_chunk); }
  /// Whether no rank trains any of its parameters.
  bool is_frozen(const collectives::Bucket& bucket) const {
    return rates_.is_frozen(bucket.offset, bucket.elements);
  }
  bool is_frozen(UnitId unit) const {
    return rates_.is_frozen(plan_.unit_offsets[static_cast<std::size_t>(unit)],
                            layout_.unit_elements[static_cast<std::size_t>(unit)]);
  }
  /// Whether backward passes through the bucket: it or a unit below it is trained.
  bool has_backward(const collectives::Bucket& bucket) const {
    return !rates_.is_frozen(0, bucket.offset + bucket.elements);
  }
  /// The replica of another rank's shard; null if this rank keeps none.
  const ShardReplica* shard_replica() const { return shard_replica_ ? &*shard_replica_ : nullptr; }
  /// Null unless the strategy offloads.
  const HostShard* host() const { return host_ ? &*host_ : nullptr; }

  /// Memory for a whole bucket in the narrower type that is sent; null if all is sent in f32.
  std::byte* wire() const { return wire_ ? wire_->data() : nullptr; }
  /// Enqueues: keep_base stores the state as the common state of all ranks, return_to_base restores
  /// it. No effect without Options::keeps_base.
  void keep_base(Stream& stream) const;
  void return_to_base(Stream& stream) const;
  /// Optimizer values on this rank's device, by slot.
  std::vector<std::span<float>> optimizer_arrays() const;
  /// The outer optimizer's momentum for chunk()'s parameters; null if it has none.
  float* outer_momentum(const collectives::Bucket& bucket) const;

  /// This rank's part of the flat space if parameters and gradients are divided.
  float* owned_parameters() const { return parameters_->floats(); }
  float* owned_gradients() const { return gradients_->floats(); }

  /// Index of this rank's shard of each bucket.
  std::size_t shard() const { return shard_; }

  float* statistics() const { return statistics_->floats(); }
  /// Enqueues: keep_statistics stores the statistics, restore_statistics restores them. Only with
  /// Options::keeps_statistics.
  bool keeps_statistics() const { return kept_statistics_ != nullptr; }
  void keep_statistics(Stream& stream) const;
  void restore_statistics(Stream& stream) const;
  /// Statistics of slice 0 after a committed step, on every rank; step -1 stands for the loaded
  /// ones. On CUDA, work that a rank enqueued after a failed step may still run; it writes only the
  /// statistics of later steps. Only with Options::commits_statistics.
  bool commits_statistics() const { return committed_statistics_ != nullptr; }
  float* committed_statistics(std::int64_t step) const;
  /// Enqueues a copy of this rank's statistics to those of `step`.
  void commit_statistics(Stream& stream, std::int64_t step) const;
  /// Enqueues a copy of the statistics of `step` to this rank's.
  void revert_statistics(Stream& stream, std::int64_t step) const;
  /// In device memory; null unless Options::loss_scale.
  LossScaleState* loss_scale() const {
    return scaler_ ? reinterpret_cast<LossScaleState*>(scaler_->data()) : nullptr;
  }
  /// The factor that executables multiply the loss by. In asynchronous training a separate value,
  /// which ParameterClient writes. Null if losses are not scaled.
  float* read_scale() const {
    return read_scale_ ? read_scale_->floats() : loss_scale() ? &loss_scale()->scale : nullptr;
  }
  /// Scratch for clipping: the squared norm of the gradients, and the clipping factor.
  double* squared_norm() const { return reinterpret_cast<double*>(scratch_->data()); }
  float* clip_factor() const { return reinterpret_cast<float*>(scratch_->data() + sizeof(double)); }
  /// Scratch for a vote: this rank's vote; after the sum, the number of ranks that vote yes.
  float* votes() const { return clip_factor() + 1; }
  /// Enqueues: sets votes() to this rank's vote.
  void vote(Stream& stream) const;
  /// Number of applied steps, in device memory (Device::count_update).
  std::int64_t* steps() const {
    return reinterpret_cast<std::int64_t*>(scratch_->floats() + scratch_elements) - 1;
  }
  /// Number of prepared steps: one more than steps() if this rank has voted for a step and not
  /// applied it. Only with Options::prepares.
  bool prepares() const { return prepares_; }
  std::int64_t* prepared_steps() const { return steps() - 1; }
  /// Enqueues, before a vote: counts the step as prepared. A device that continues after a failed
  /// stream also copies the step's inputs.
  void prepare(Stream& stream) const;
  const Prepared& prepared() const { return prepared_; }
  /// This rank's part of a bucket's gradients in the prepared step.
  const float* prepared_gradients(const collectives::Bucket& bucket) const;
  /// kept_chunks() with the prepared gradients.
  std::vector<OptimizerChunk> prepared_chunks(const collectives::Bucket& bucket) const;

private:
  /// An array of this rank: elements below `kept` are on the device, the others in the host's
  /// memory.
  struct Destination {
    bool divided = false;  ///< one shard of each bucket; false: all of it
    std::size_t shard = 0; ///< index of the shard
    const BufferPtr* device = nullptr;
    std::size_t kept = SIZE_MAX;
    float* host = nullptr;
    bool host_alone = false; ///< skips the elements that would be on the device
    bool may_lack = false;   ///< zeros if the source lacks it
  };

  ModelState(Device& device, const StorageLayout& layout, const Options& options);
  Status allocate(const Options& options);
  Status allocate_host(const HostShard::Range& range);
  Status allocate_for_recovery(const Options& options);
  Status allocate_base();
  void place_units();
  /// A bucket's elements in the space of the optimizer's state.
  HostShard::Range range(const collectives::Bucket& bucket) const;
  /// Offset in the flat space of the rank's part of a bucket.
  std::size_t flat_place(const collectives::Bucket& bucket) const;
  std::vector<OptimizerChunk>
  in_few_views(OptimizerViews (ModelState::*part)(const collectives::Bucket&) const) const;
  Status load_parameters(Stream& stream, const StateSource& source);
  Status load_replica(Stream& stream, const StateSource& source);
  Status load_loss_scale(Stream& stream, const CheckpointHeader& header);
  Status load_statistics(Stream& stream, const StateSource& source);
  Status load_array(Stream& stream, const StateSource& source, std::string_view state,
                    const Destination& to) const;
  void put(Stream& stream, std::span<const float> values, std::size_t place,
           const Destination& to) const;
  /// Copies all statistics.
  void copy_statistics(Stream& stream, float* to, const float* from) const;
  float* at(const std::vector<float*>& places, UnitId unit) const {
    return places[static_cast<std::size_t>(unit)];
  }
  std::size_t place_of(const Slot& slot) const;
  std::size_t bucket_of(const Slot& slot) const {
    return plan_.bucket_of[static_cast<std::size_t>(slot.unit)];
  }
  void copy_flat(Stream& stream, std::size_t array, std::size_t bucket, std::size_t begin,
                 std::size_t elements, float* to) const;

  Device& device_;
  StorageLayout layout_;
  collectives::Strategy strategy_;
  std::size_t shard_; ///< index of this rank's shard
  collectives::FlatPlan plan_;
  std::vector<std::string> optimizer_slots_;
  std::size_t inner_slots_; ///< number of slots before the outer optimizer's
  std::optional<LossScaleOptions> loss_scale_options_;
  DType stored_;
  BufferPtr parameters_, gradients_, accumulated_, scratch_, scaler_, read_scale_;
  BufferPtr statistics_, kept_statistics_, committed_statistics_;
  BufferPtr gathered_, fresh_; ///< windows; null if nothing is divided
  BufferPtr wire_;
  BufferPtr snapshot_;
  bool saves_shard_;
  SavedShard part_;
  std::vector<SavedChunk> saved_, saved_shard_;
  std::vector<BufferPtr> optimizer_;
  ParameterCopies copies_; ///< in the flat space too
  std::size_t kept_ = 0;   ///< elements of the optimizer's part that are not offloaded
  std::optional<HostShard> host_;
  std::vector<float*> parameters_of_, gradients_of_; ///< by UnitId
  RateRanges rates_;
  std::vector<FlatGap> gaps_;
  std::optional<ShardReplica> shard_replica_;
  std::optional<StateBase> base_;
  bool prepares_ = false;
  Prepared prepared_;
};

/// Binds all of the state's buffers to an executable.
void bind(Executable& executable, const ModelState& state);
/// Unbinds all buffers and the sum over ranks.
void unbind(Executable& executable);

} // namespace troupe::training
