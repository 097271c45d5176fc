/// Parameters and statistics that a run begins with, from a file of anybody's (model.pretrained).
#pragma once

#include "troupe/core/checkpoint/checkpoint.hpp"
#include "troupe/core/config/forward.hpp"

#include <string>
#include <vector>

namespace troupe::engine {

struct Pretrained {
  Checkpoint checkpoint;          ///< of step 0, with all that the config's model has
  std::vector<std::string> notes; ///< what was taken, and what begins anew
};

/// Reads the safetensors file that model.pretrained names; a checkpoint is verified. Blocks.
/// Errors: invalid_input, where it cannot be read or is of another model (match_weights).
Result<Pretrained> read_pretrained(const Config& config);

} // namespace troupe::engine
