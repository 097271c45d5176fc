/// What a rank works on at a time.
#pragma once

#include "core/device/executable.hpp"
#include "nn/pass_mode.hpp"

#include <cstdint>

namespace troupe::training {

/// A pass is one forward and backward over one slice; data::Dealing says of which step it is.
using Pass = std::int64_t;

using nn::PassMode;

/// A filled (or being filled) buffer on its way from DATA LOADER to WORKER. Its slot is the credit
/// that goes back when the worker has read it.
struct MicroBatch {
  PassMode pass_mode = PassMode::training;
  std::int64_t index = 0; ///< train: the pass; evaluate: the batch of the test set
  std::int32_t slot = 0;
  std::int64_t samples = 0; ///< without padding
  BatchView view;
  EventPtr ready;
};

} // namespace troupe::training
