/// Copies of a rank's state, on their way to a file.
#pragma once

#include "core/device/loss_scale.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe::training {

/// A copy of a rank's state at a committed step. The values lie in ModelState::snapshot(), of which
/// there is one.
struct Snapshot {
  std::int64_t step = 0;
  std::optional<LossScaleState> loss_scale = {};
};

/// One piece (saved_state.hpp) of such a copy, where the whole is not copied.
struct StateChunk {
  std::int64_t step = 0;
  std::size_t index = 0;     ///< of the pieces that a state is saved in
  std::vector<float> values; ///< in host memory and in the device's layout
  std::optional<LossScaleState> loss_scale = {};
};

} // namespace troupe::training
