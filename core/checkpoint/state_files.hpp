/// Reads a state from one file or several.
#pragma once

#include "core/checkpoint/safetensors.hpp"
#include "core/checkpoint/state_source.hpp"

#include <vector>

namespace troupe {

/// Builds a state from tensors of any floating type, each complete or in parts from several files.
/// Errors: corrupt when a part is missing or occurs twice; the message names the tensor and the gap
/// or overlap.
Result<StateSourcePtr> state_in_files(CheckpointHeader header,
                                      std::vector<SafetensorsReader> readers);

} // namespace troupe
