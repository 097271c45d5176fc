/// The flat buffers of one rank in its device's memory: what the SHARD MANAGER owns.
#pragma once

#include "messages.hpp"

#include "troupe/core/checkpoint.hpp"
#include "troupe/core/executable.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe::actors {

/// Names of an optimizer's state slots in checkpoints, PyTorch's: momentum; exp_avg, exp_avg_sq.
std::vector<std::string_view> optimizer_slot_names(const OptimizerArguments& optimizer);

/// Parameters of all units lie one after the other, and so do gradients and optimizer state, so
/// that a bucket of neighbouring units is one range.
class ModelState {
public:
  struct Options {
    std::vector<std::string_view> optimizer_slots;
    bool accumulate = false; ///< a second gradient buffer to sum micro-batches in
    std::optional<LossScaleOptions> loss_scale = {}; ///< how a run begins that scales its loss
    DType stored = DType::f32; ///< what is loaded is rounded to it (stored_type)
  };

  static Result<std::shared_ptr<ModelState>> create(Device& device, const StorageLayout& layout,
                                                    const Options& options);

  /// Takes parameters, statistics and, when the checkpoint has them, optimizer state and loss
  /// scale. Blocks: for set-up only. Errors: a tensor is missing or has another shape (named).
  Status load(Stream& stream, const Checkpoint& checkpoint);
  /// Enqueues a copy of everything into the snapshot, which must live until it is done.
  void copy_to(Stream& stream, Snapshot& snapshot) const;
  /// The snapshot in canonical layout. `storage` of the result owns the values. Pure, thread-safe.
  Checkpoint decode(const Snapshot& snapshot) const;

  const StorageLayout& layout() const { return layout_; }
  /// The type whose values all buffers hold, in f32's memory.
  DType stored() const { return stored_; }
  std::size_t elements() const { return elements_; }
  std::size_t unit_offset(UnitId unit) const {
    return unit_offsets_[static_cast<std::size_t>(unit)];
  }
  float* parameters() const { return parameters_->floats(); }
  float* gradients() const { return gradients_->floats(); }
  /// Null unless Options::accumulate.
  float* accumulated() const { return accumulated_ ? accumulated_->floats() : nullptr; }
  /// Null when the optimizer has fewer slots.
  float* optimizer(std::size_t slot) const;
  float* statistics() const { return statistics_->floats(); }
  /// In device memory; null unless Options::loss_scale.
  LossScaleState* loss_scale() const {
    return scaler_ ? reinterpret_cast<LossScaleState*>(scaler_->data()) : nullptr;
  }
  /// Scratch for clipping: the squared norm of the gradients, and the factor that follows from it.
  double* squared_norm() const { return reinterpret_cast<double*>(scratch_->data()); }
  float* clip_factor() const { return reinterpret_cast<float*>(scratch_->data() + sizeof(double)); }

private:
  ModelState(Device& device, const StorageLayout& layout, const Options& options);
  Status allocate(bool accumulate);
  Status load_loss_scale(Stream& stream, const Checkpoint& checkpoint);
  Status load_flat(Stream& stream, float* destination, std::size_t elements,
                   const std::vector<Slot>& slots, std::string_view state,
                   const Checkpoint& checkpoint);
  std::size_t place_of(const Slot& slot) const;

  Device& device_;
  StorageLayout layout_;
  std::vector<std::string> optimizer_slots_;
  std::vector<std::size_t> unit_offsets_;
  std::size_t elements_ = 0;
  std::optional<LossScaleOptions> loss_scale_options_;
  DType stored_;
  BufferPtr parameters_, gradients_, accumulated_, statistics_, scratch_, scaler_;
  std::vector<BufferPtr> optimizer_;
};

/// Gives an executable all of the state's buffers.
void bind(Executable& executable, const ModelState& state);

} // namespace troupe::actors
