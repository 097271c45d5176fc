/// Checkpoints of version 1: all of a state in one safetensors file, whose metadata begin with its
/// checksum. They are read, and no longer written.
#pragma once

#include "core/checkpoint/checkpoint.hpp"
#include "core/checkpoint/safetensors.hpp"

namespace troupe {

/// Whether a safetensors file says that it is one.
bool is_single_file(const SafetensorsReader& reader);
/// What it says before its values. Errors: corrupt.
Result<CheckpointHeader> read_single_file_header(const SafetensorsReader& reader);
/// Whether it is whole. Errors: io when it cannot be read; corrupt.
Status verify_single_file(const SafetensorsReader& reader);

} // namespace troupe
