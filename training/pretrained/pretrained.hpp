/// Initial parameters and statistics of a run from a file (model.pretrained), of this program or
/// others.
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "core/config/forward.hpp"

#include <string>
#include <vector>

namespace troupe::training {

struct Pretrained {
  StateSourcePtr state;           ///< at step 0, with all tensors of the config's model
  std::vector<std::string> notes; ///< which tensors were loaded, and which are initialized
};

/// Opens the safetensors file, checkpoint or Hugging Face folder that model.pretrained names.
/// Verifies a checkpoint; a Hugging Face folder must match exactly. Blocks. Errors: invalid_input
/// if it cannot be read or is of another model (match_weights).
Result<Pretrained> open_pretrained(const Config& config);

} // namespace troupe::training
