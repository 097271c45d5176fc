/// Parameters and statistics that a run begins with, from a file of anybody's (model.pretrained).
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "core/config/forward.hpp"

#include <string>
#include <vector>

namespace troupe::training {

struct Pretrained {
  StateSourcePtr state;           ///< of step 0, with all that the config's model has
  std::vector<std::string> notes; ///< what was taken, and what begins anew
};

/// Opens the safetensors file, the checkpoint or the folder of Hugging Face's that model.pretrained
/// names; a checkpoint is verified, and of such a folder nothing may differ. Blocks.
/// Errors: invalid_input, where it cannot be read or is of another model (match_weights).
Result<Pretrained> open_pretrained(const Config& config);

} // namespace troupe::training
