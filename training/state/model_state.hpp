/// A rank's state in its device's memory. Owned by the SHARD MANAGER.
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "training/state/flat_buffers.hpp"
#include "training/state/snapshot.hpp"
#include "training/state/state_layout.hpp"
#include "training/state/statistics.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace troupe::training {

/// Scalars that a step uses in device memory. The host uses only their addresses.
struct StepScratch {
  double squared_norm; ///< of the gradients
  float clip_factor;
  float votes; ///< this rank's vote; after the sum, the number of ranks that vote yes
  float yes;   ///< 1
  std::int64_t prepared_steps; ///< one more than `steps` if this rank has voted for a step and not
                               ///< applied it; only with StateOptions::prepares
  std::int64_t steps;          ///< applied
};

/// Inputs of a step that a rank has voted for and not applied, while other ranks have applied it. A
/// failed host stream runs nothing more, so the step's gradients, loss scale and clipping factor
/// stay in place. CUDA kernels after a failure still run, so CUDA keeps copies: of the last step
/// that this rank voted for while updates were enabled (Device::gate_updates).
struct PreparedStep {
  struct Scratch {
    LossScaleState loss_scale;
    float clip_factor;
  };

  BufferPtr gradients = nullptr;  ///< of the rank's shard, in its order; null: no copies
  BufferPtr replicated = nullptr; ///< of the shard that the rank replicates
  BufferPtr memory = nullptr;     ///< of scratch()

  Scratch* scratch() const { return reinterpret_cast<Scratch*>(memory->data()); }
};

/// The layout, the buffers, the statistics and the scalars of a state, and what a rank keeps for
/// recovery: a replica of another rank's shard, the last common state, and the inputs of a prepared
/// step.
class ModelState {
public:
  /// Errors: out_of_memory.
  static Result<std::shared_ptr<ModelState>> create(Device& device, const StorageLayout& storage,
                                                    const StateOptions& options);

  /// Loads this rank's part of the state: parameters, statistics and, if present, optimizer state
  /// and loss scale. Needs extra memory for one tensor at a time. Blocks: only for set-up. Errors:
  /// a tensor is missing or has another shape (the error names it); those of reading.
  Status load(Stream& stream, const StateSource& source);

  Device& device() const { return device_; }
  const StateLayout& layout() const { return layout_; }
  const FlatBuffers& buffers() const { return buffers_; }
  FlatBuffers& buffers() { return buffers_; }
  const Statistics& statistics() const { return statistics_; }
  /// In device memory.
  StepScratch* scratch() const { return reinterpret_cast<StepScratch*>(scratch_->data()); }

  /// In device memory; null unless StateOptions::loss_scale.
  LossScaleState* loss_scale() const {
    return scaler_ ? reinterpret_cast<LossScaleState*>(scaler_->data()) : nullptr;
  }
  /// The factor that executables multiply the loss by. In asynchronous training a separate value,
  /// which ParameterClient writes. Null if losses are not scaled.
  float* read_scale() const {
    return read_scale_ ? read_scale_->floats() : loss_scale() ? &loss_scale()->scale : nullptr;
  }
  /// Enqueues a copy to `to`, which must live until the copy is done. `to` stays empty if losses
  /// are not scaled.
  void copy_loss_scale(Stream& stream, std::optional<LossScaleState>& to) const;

  /// Takes the memory for a snapshot, which StateCopier fills. Only with StateOptions::snapshots.
  /// Error: internal if chunks of the last snapshot are not released.
  Result<std::shared_ptr<Snapshot>> begin_snapshot(std::int64_t step) const;

  /// Numbers of steps. Only with StateOptions::prepares may more be prepared than applied.
  struct Steps {
    std::int64_t applied = 0, prepared = 0;
  };
  /// Blocks until the stream is idle. Errors: the stream's.
  Result<Steps> read_steps(Stream& stream) const;
  /// Enqueues: sets the scratch's votes to this rank's vote.
  void vote(Stream& stream) const;

  /// The replica of another rank's shard; null if this rank keeps none.
  const OptimizerPart* shard_replica() const { return shard_replica_ ? &*shard_replica_ : nullptr; }
  /// The part that this rank's optimizer updates, then its replica, if it keeps one.
  std::vector<const OptimizerPart*> parts() const;
  /// Enqueues: keep_base stores the state as the common state of all ranks, unless they voted
  /// against it (Device::gate_updates); return_to_base restores it. No effect without
  /// StateOptions::keeps_base.
  void keep_base(Stream& stream) const;
  void return_to_base(Stream& stream) const;
  /// Enqueues, before a vote: counts the step as prepared. A device that continues after a failed
  /// stream also copies the step's inputs. Only with StateOptions::prepares.
  bool prepares() const { return prepares_; }
  void prepare(Stream& stream) const;
  const PreparedStep& prepared() const { return prepared_; }
  /// A part's gradients of a bucket in the prepared step.
  const float* prepared_gradients(const OptimizerPart& part, const Bucket& bucket) const;

private:
  struct BasePart {
    void* live;
    BufferPtr kept;
    std::size_t bytes;
  };

  ModelState(Device& device, const StorageLayout& storage, const StateOptions& options)
      : device_{device}, layout_{storage, options}, buffers_{device, layout_}, statistics_{device,
                                                                                           layout_},
        loss_scale_options_{options.loss_scale}, prepares_{options.prepares} {}
  Status allocate(const StateOptions& options);
  Status allocate_loss_scale();
  Status allocate_prepared();
  Status allocate_base();
  Status load_loss_scale(Stream& stream, const CheckpointHeader& header) const;

  Device& device_;
  StateLayout layout_;
  FlatBuffers buffers_;
  Statistics statistics_;
  std::optional<LossScaleOptions> loss_scale_options_;
  BufferPtr scratch_, scaler_, read_scale_;
  std::optional<OptimizerPart> shard_replica_;
  /// A copy of the state when it was last equal on all ranks. The job can resume from it while each
  /// rank trains by itself.
  std::vector<BasePart> base_;
  bool prepares_;
  PreparedStep prepared_;
};

/// Binds all of the state's buffers to an executable.
void bind(Executable& executable, const ModelState& state);
/// Unbinds all buffers and the sum over ranks.
void unbind(Executable& executable);

} // namespace troupe::training
