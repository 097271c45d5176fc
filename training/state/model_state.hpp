/// The flat buffers of one rank in its device's memory: what the SHARD MANAGER owns.
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

/// The key of the loss scale's state in a checkpoint's metadata.
inline constexpr const char* loss_scale_key = "loss_scale";

/// Names of an optimizer's state slots in checkpoints, PyTorch's: momentum; exp_avg, exp_avg_sq.
std::vector<std::string_view> optimizer_slot_names(const OptimizerArguments& optimizer);

/// Buffers as the strategy divides them. What is not divided holds all units, in the flat space of
/// collectives::FlatPlan; what is divided holds this rank's shard of it, and executables read
/// gathered parameters and write fresh gradients in a window of a few buckets.
class ModelState {
public:
  struct Options {
    std::vector<std::string_view> optimizer_slots;
    bool accumulate = false;                         ///< memory to sum a step's passes in
    bool keeps_statistics = false;                   ///< memory for keep_statistics
    bool commits_statistics = false;                 ///< memory for committed_statistics
    std::optional<LossScaleOptions> loss_scale = {}; ///< how a run begins that scales its loss
    DType stored = DType::f32; ///< what is loaded is rounded to it (stored_type)
    collectives::Strategy strategy = {};
    int rank = 0;
    std::vector<collectives::UnitRange> buckets = {}; ///< wrap_units; empty: one of everything
    /// By parameter (nn::parameter_rates). Empty: all are trained, and decay.
    std::vector<nn::ParameterRate> rates = {};
    /// Every rank saves its part of a sharded checkpoint; else rank 0 all of it.
    bool saves_shard = false;
    bool snapshots = false; ///< memory for a copy of what this rank saves
    /// What a step needs stays when the stream has failed (prepared), for who has not applied it
    /// while others have.
    bool prepares = false;
    std::optional<int> replica_rank_of = {}; ///< the rank whose shard has its copy here
    bool keeps_base = false; ///< a copy of what all ranks had, while each has a state of its own
    bool outer_momentum = false; ///< a slot more: of the optimizer over teams that train apart
  };

  /// A norm, a factor of clipping, votes and one of them, of the size of fp32; the number of steps,
  /// and of those that were prepared.
  static constexpr std::size_t scratch_elements = 10;
  /// Of how many steps committed_statistics are kept: of those that may be under way, and of the
  /// one before them, which is the last that counts where none of them gets all votes. Who trains
  /// asynchronously may still be about to read those of a step that was the last as many steps ago.
  static std::int64_t committed_turns(const collectives::Strategy& strategy);

  static Result<std::shared_ptr<ModelState>> create(Device& device, const StorageLayout& layout,
                                                    const Options& options);

  /// Takes parameters, statistics and, when they are there, optimizer state and loss scale: as much
  /// as this rank has, and beside it in memory no more than a tensor at a time. Blocks: for set-up
  /// only. Errors: a tensor is missing or has another shape (named); those of reading.
  Status load(Stream& stream, const StateSource& source);

  /// What is gathered at rank 0 of a whole state, in this order.
  const std::vector<SavedChunk>& saved() const { return saved_; }
  /// What this rank writes to files, in this order: pieces of the whole state or of its part.
  const std::vector<SavedChunk>& written() const { return saves_shard_ ? saved_shard_ : saved_; }
  bool saves_shard() const { return saves_shard_; }
  /// How many of the optimizer's values belong to each parameter, also where another rank has them.
  std::size_t saved_slots() const { return optimizer_slots_.size(); }
  /// Whether the strategy divides an array (saved_state.hpp) among ranks.
  bool is_divided(std::size_t array) const;
  /// Where a range begins in its array, whether all of the array is on this rank or not.
  std::size_t place_of(const SavedRange& range) const;
  /// Enqueues a copy to the host's memory of what this rank has.
  void copy_range(Stream& stream, const SavedRange& range, float* to) const;
  /// The same of the part of a bucket that is written, or of all statistics, to its place in the
  /// snapshot.
  void copy_bucket(Stream& stream, std::size_t array, std::size_t bucket) const;
  void copy_statistics(Stream& stream) const;
  /// Enqueues a copy to `to`, which must live until it is done and stays empty where losses are not
  /// scaled.
  void copy_loss_scale(Stream& stream, std::optional<LossScaleState>& to) const;
  /// A range of what is written, in the copy of the state in the host's memory. Only with
  /// Options::snapshots.
  float* in_snapshot(const SavedRange& range) const;
  /// Where the copy has a bucket of an array.
  float* in_snapshot(std::size_t array, std::size_t bucket) const;
  /// Enqueues a copy to the host's memory of a range of this rank's shard, or of its buddy's owner:
  /// as its optimizer left it, whether others have been told or not.
  void copy_of_shard(Stream& stream, const SavedRange& range, float* to) const;
  void copy_of_replica(Stream& stream, const SavedRange& range, float* to) const;
  static std::size_t snapshot_elements(std::size_t parameters, std::size_t statistics,
                                       std::size_t slots);
  /// Of the flat space, those that rank 0 writes.
  static std::size_t saved_elements(const collectives::FlatPlan& plan,
                                    const collectives::Strategy& strategy, bool saves_shard);
  /// A checkpoint of this state, before its values. `step` and metadata are the caller's to fill.
  CheckpointHeader describe(const std::optional<LossScaleState>& loss_scale) const;
  /// What this rank's file of a sharded checkpoint holds.
  std::vector<TensorPart> describe_shard() const;
  /// What pieces of this state hold.
  std::vector<TensorPart> describe_chunks(std::span<const SavedChunk> chunks) const;

  const StorageLayout& layout() const { return layout_; }
  const collectives::FlatPlan& plan() const { return plan_; }
  const collectives::Strategy& strategy() const { return strategy_; }
  /// The type whose values all buffers hold, in f32's memory.
  DType stored() const { return stored_; }
  std::size_t optimizer_slots() const { return inner_slots_; }

  // Where executables read parameters and write gradients; a window's places are shared.
  float* parameters(UnitId unit) const { return at(parameters_of_, unit); }
  float* gradients(UnitId unit) const { return at(gradients_of_, unit); }
  float* parameters(const collectives::Bucket& bucket) const {
    return parameters(bucket.units.first);
  }
  float* gradients(const collectives::Bucket& bucket) const {
    return gradients(bucket.units.first);
  }

  /// Where a step's passes are summed: a unit's gradients, or, where sums_shards(), this rank's
  /// shard of a bucket's. The other of the two is null; both are without Options::accumulate.
  float* accumulated(UnitId unit) const;
  float* accumulated(const collectives::Bucket& bucket) const;
  bool sums_shards() const { return strategy_.sums_shards(); }

  /// Pieces have these copies from now on, where an optimizer of this rank's works on all
  /// parameters whole: then writes_copies().
  void write(const ParameterCopies& copies);
  bool writes_copies() const { return copies_.data != nullptr; }

  /// The part of a bucket that this rank's optimizer works on: its shard, or all of it. Gradients
  /// are there in any case; state that is offloaded, and parameters that are, are not.
  OptimizerViews chunk(const collectives::Bucket& bucket) const;
  /// The part of a piece that the device's optimizer works on, and the part that the host's does.
  OptimizerViews kept_chunk(const collectives::Bucket& bucket) const;
  HostChunk host_chunk(const collectives::Bucket& bucket) const;
  /// Places in piece()'s gradients that no parameter has, where buckets share the memory of fresh
  /// gradients: what lies there is another bucket's.
  std::vector<FlatGap> foreign_gradients(const collectives::Bucket& bucket) const;
  /// What is trained of these, cut where the learning rate's factor changes.
  std::vector<OptimizerChunk> kept_chunks(const collectives::Bucket& bucket) const;
  std::vector<OptimizerChunk> host_chunks(const collectives::Bucket& bucket) const;
  /// The same of all buckets, neighbours joined: as few views as possible.
  std::vector<OptimizerChunk> chunks() const { return in_few_views(&ModelState::chunk); }
  std::vector<OptimizerChunk> kept_chunks() const { return in_few_views(&ModelState::kept_chunk); }
  /// Whether nothing of it is trained, on any rank.
  bool is_frozen(const collectives::Bucket& bucket) const {
    return rates_.is_frozen(bucket.offset, bucket.elements);
  }
  bool is_frozen(UnitId unit) const {
    return rates_.is_frozen(plan_.unit_offsets[static_cast<std::size_t>(unit)],
                            layout_.unit_elements[static_cast<std::size_t>(unit)]);
  }
  /// Whether gradients go through it to what is trained: in it, or in units below.
  bool has_backward(const collectives::Bucket& bucket) const {
    return !rates_.is_frozen(0, bucket.offset + bucket.elements);
  }
  /// The copy of another rank's shard; null: this rank keeps none.
  const ShardReplica* shard_replica() const { return shard_replica_ ? &*shard_replica_ : nullptr; }
  /// Null unless the strategy offloads.
  const HostShard* host() const { return host_ ? &*host_ : nullptr; }

  /// Room for a whole bucket in the narrower type in which it travels; null when all do in f32.
  std::byte* wire() const { return wire_ ? wire_->data() : nullptr; }
  /// Enqueues: the state is all ranks' as it is now; and that of this rank is again what it was
  /// then. Nothing without Options::keeps_base.
  void keep_base(Stream& stream) const;
  void return_to_base(Stream& stream) const;
  /// All of the optimizer's values on this rank's device, by slot.
  std::vector<std::span<float>> optimizer_arrays() const;
  /// What the outer optimizer keeps of piece()'s parameters; null: nothing.
  float* outer_momentum(const collectives::Bucket& bucket) const;

  /// This rank's part of the flat space, where parameters and gradients are divided.
  float* owned_parameters() const { return parameters_->floats(); }
  float* owned_gradients() const { return gradients_->floats(); }

  /// Which shard of each bucket is this rank's.
  std::size_t shard() const { return shard_; }

  float* statistics() const { return statistics_->floats(); }
  /// Enqueues: the statistics as they are now come back with restore_statistics. Only with
  /// Options::keeps_statistics.
  bool keeps_statistics() const { return kept_statistics_ != nullptr; }
  void keep_statistics(Stream& stream) const;
  void restore_statistics(Stream& stream) const;
  /// Where every rank has the statistics of slice 0 after a step once all have voted for it, and
  /// what was loaded until then; -1: before the first step. What a rank has enqueued beyond a step
  /// that fails may still run, on CUDA, and writes those of later steps alone. Only with
  /// Options::commits_statistics.
  bool commits_statistics() const { return committed_statistics_ != nullptr; }
  float* committed_statistics(std::int64_t step) const;
  /// Enqueues: they are this rank's as they are now.
  void commit_statistics(Stream& stream, std::int64_t step) const;
  /// Enqueues: this rank's are these again.
  void revert_statistics(Stream& stream, std::int64_t step) const;
  /// In device memory; null unless Options::loss_scale.
  LossScaleState* loss_scale() const {
    return scaler_ ? reinterpret_cast<LossScaleState*>(scaler_->data()) : nullptr;
  }
  /// What executables multiply the loss by: where ranks train asynchronously, a value of its own,
  /// which who computes writes there (ParameterClient). Null where losses are not scaled.
  float* read_scale() const {
    return read_scale_ ? read_scale_->floats() : loss_scale() ? &loss_scale()->scale : nullptr;
  }
  /// Scratch for clipping: the squared norm of the gradients, and the factor that follows from it.
  double* squared_norm() const { return reinterpret_cast<double*>(scratch_->data()); }
  float* clip_factor() const { return reinterpret_cast<float*>(scratch_->data() + sizeof(double)); }
  /// Scratch for a vote: how many ranks are for it, after the sum; before, this rank alone.
  float* votes() const { return clip_factor() + 1; }
  /// Enqueues: votes() is this rank's own.
  void vote(Stream& stream) const;
  /// In device memory: of how many steps this is the state (Device::count_update).
  std::int64_t* steps() const {
    return reinterpret_cast<std::int64_t*>(scratch_->floats() + scratch_elements) - 1;
  }
  /// The same of steps that this rank had all for: one more than steps(), where it has voted for
  /// one and not applied it. Only with Options::prepares.
  bool prepares() const { return prepares_; }
  std::int64_t* prepared_steps() const { return steps() - 1; }
  /// Enqueues, in front of a vote: that all is there, and where the device runs on behind a stream
  /// that has failed, copies of it.
  void prepare(Stream& stream) const;
  const Prepared& prepared() const { return prepared_; }
  /// This rank's part of a bucket's gradients, as they were prepared.
  const float* prepared_gradients(const collectives::Bucket& bucket) const;
  /// kept_chunks() with these.
  std::vector<OptimizerChunk> prepared_chunks(const collectives::Bucket& bucket) const;

private:
  /// An array of this rank: elements below `kept` lie on the device, the others in the host's
  /// memory.
  struct Destination {
    bool divided = false;  ///< it has a shard of each bucket; else all of them
    std::size_t shard = 0; ///< which
    const BufferPtr* device = nullptr;
    std::size_t kept = SIZE_MAX;
    float* host = nullptr;
    bool host_alone = false; ///< what would lie on the device is left out
    bool may_lack = false;   ///< it is zeros where the source has none
  };

  ModelState(Device& device, const StorageLayout& layout, const Options& options);
  Status allocate(const Options& options);
  Status allocate_host(const HostShard::Range& range);
  Status allocate_for_recovery(const Options& options);
  Status allocate_base();
  void place_units();
  /// A bucket's elements in the space in which the optimizer's state lies.
  HostShard::Range range(const collectives::Bucket& bucket) const;
  /// Where a rank's part of a bucket begins in the flat space.
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
  /// All of them.
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
  std::size_t shard_; ///< which one is this rank's
  collectives::FlatPlan plan_;
  std::vector<std::string> optimizer_slots_;
  std::size_t inner_slots_; ///< those before the outer optimizer's
  std::optional<LossScaleOptions> loss_scale_options_;
  DType stored_;
  BufferPtr parameters_, gradients_, accumulated_, scratch_, scaler_, read_scale_;
  BufferPtr statistics_, kept_statistics_, committed_statistics_;
  BufferPtr gathered_, fresh_; ///< windows; null where nothing is divided
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

/// Gives an executable all of the state's buffers.
void bind(Executable& executable, const ModelState& state);
/// Takes all buffers away, and ranks to sum over.
void unbind(Executable& executable);

} // namespace troupe::training
