/// Memory that a step uses on a rank's device, besides its gradients.
#pragma once

#include "core/device/device.hpp"

#include <cstdint>

namespace troupe::training {

/// Scalars in device memory. The host uses only their addresses.
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

} // namespace troupe::training
