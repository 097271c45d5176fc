/// The unit of a rank's work.
#pragma once

#include "core/device/executable.hpp"
#include "nn/pass_mode.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::training {

/// Number of a pass: one forward and backward over one slice. data::SliceAssignment gives its step.
using Pass = std::int64_t;

using nn::PassMode;

/// Index in arrays by pass mode.
constexpr std::size_t index_of(PassMode pass_mode) {
  return static_cast<std::size_t>(pass_mode);
}

/// A buffer, filled or being filled, that DATA LOADER sends to WORKER. The worker returns its slot
/// as credit after reading it.
struct MicroBatch {
  PassMode pass_mode = PassMode::training;
  std::int64_t index = 0; ///< training: the pass; evaluation: the batch of the test set
  std::int32_t slot = 0;
  std::int64_t samples = 0; ///< without padding
  BatchView view;
  EventPtr ready;
};

} // namespace troupe::training
