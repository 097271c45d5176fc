/// Inputs of a step that a rank has voted for and not applied, while other ranks have applied it.
#pragma once

#include "core/device/device.hpp"

namespace troupe::training {

/// A failed host stream runs nothing more, so the step's gradients, loss scale and clipping factor
/// stay in place. CUDA kernels after a failure still run, so CUDA keeps copies: of the last step
/// that this rank voted for while updates were enabled (Device::gate_updates).
struct Prepared {
  BufferPtr gradients = nullptr;  ///< of the rank's shard, in its order; null: no copies
  BufferPtr replicated = nullptr; ///< of the shard that the rank replicates
  BufferPtr findings = nullptr;   ///< the loss scale, then the clipping factor

  static constexpr std::size_t findings_elements = sizeof(LossScaleState) / sizeof(float) + 1;
  LossScaleState* loss_scale() const { return reinterpret_cast<LossScaleState*>(findings->data()); }
  float* clip_factor() const { return findings->floats() + findings_elements - 1; }
};

} // namespace troupe::training
