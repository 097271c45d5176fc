/// What is left of a step that a rank has voted for, where others have applied it and this rank has
/// not.
#pragma once

#include "core/device/device.hpp"

namespace troupe::training {

/// Where a stream that has failed does nothing more, a step's gradients and what was found in them
/// stay as they are. CUDA's kernels behind the failure run all the same: there these are copies, of
/// the last step that this rank has voted for while the gate was open.
struct Prepared {
  BufferPtr gradients = nullptr;  ///< of the rank's shard, in its order; null: no copies
  BufferPtr replicated = nullptr; ///< of the shard that it keeps a copy of
  BufferPtr findings = nullptr;   ///< the loss scale, then the factor of clipping

  static constexpr std::size_t findings_elements = sizeof(LossScaleState) / sizeof(float) + 1;
  LossScaleState* loss_scale() const { return reinterpret_cast<LossScaleState*>(findings->data()); }
  float* clip_factor() const { return findings->floats() + findings_elements - 1; }
};

} // namespace troupe::training
