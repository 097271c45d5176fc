/// Version 1 checkpoints: the whole state in one safetensors file, whose metadata begins with its
/// checksum. They can be read but are no longer written.
#pragma once

#include "core/checkpoint/checkpoint.hpp"
#include "core/checkpoint/safetensors.hpp"

namespace troupe {

/// Whether the file's header marks it as a version 1 checkpoint.
bool is_single_file(const SafetensorsReader& reader);
/// Reads step, epoch, metadata and tensor shapes. Errors: corrupt.
Result<CheckpointHeader> read_single_file_header(const SafetensorsReader& reader);
/// Compares the file with its checksum. Errors: io when it cannot be read; corrupt.
Status verify_single_file(const SafetensorsReader& reader);

} // namespace troupe
