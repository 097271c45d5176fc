/// Copies of a rank's state to be written to a file.
#pragma once

#include "core/device/loss_scale.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe::training {

/// A copy of a rank's state at a committed step. The values are in ModelState::snapshot(); only one
/// exists at a time.
struct Snapshot {
  std::int64_t step = 0;
  std::optional<LossScaleState> loss_scale = {};
};

/// One chunk (saved_state.hpp) of a state that is copied chunk by chunk.
struct StateChunk {
  std::int64_t step = 0;
  std::size_t index = 0;     ///< in ModelState::saved() or written()
  std::vector<float> values; ///< in host memory and in the device's layout
  std::optional<LossScaleState> loss_scale = {};
};

} // namespace troupe::training
