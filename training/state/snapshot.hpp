/// Copies of a rank's state in the host's memory, in the device's layout.
#pragma once

#include "core/device/device.hpp"
#include "core/device/loss_scale.hpp"
#include "training/state/state_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace troupe::training {

/// A copy of all chunks that a rank writes, at a committed step. Owns their memory, which is taken
/// from the rank's pinned memory, until they are released one by one.
class Snapshot {
public:
  /// `memory` has at least plan.elements() elements.
  Snapshot(std::int64_t step, const StatePlan& plan, const BufferPtr& memory) : step_{step} {
    float* next = memory->floats();
    for (const auto& chunk : plan) {
      chunks_.emplace_back(memory, next); // shares ownership of `memory`
      next += chunk.elements;
    }
  }

  std::int64_t step() const { return step_; }
  /// Returns a chunk's values. Precondition: the chunk is not released.
  float* values(std::size_t chunk) const { return chunks_[chunk].get(); }
  void release(std::size_t chunk) { chunks_[chunk].reset(); }

  std::optional<LossScaleState> loss_scale = {};

private:
  std::int64_t step_;
  std::vector<std::shared_ptr<float>> chunks_;
};

/// One chunk of a state that is copied chunk by chunk.
struct StateChunk {
  std::int64_t step = 0;
  std::size_t index = 0; ///< in the plan of the whole state, or of the rank's part
  std::vector<float> values;
  std::optional<LossScaleState> loss_scale = {}; ///< set in the first chunk
};

} // namespace troupe::training
