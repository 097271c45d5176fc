/// Reads states from files: from one, or from all files of a checkpoint's folder.
#pragma once

#include "core/checkpoint/manifest.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/checkpoint/state_source.hpp"

#include <filesystem>
#include <vector>

namespace troupe {

/// Builds a state from tensors of any floating type, each complete or in parts from several files.
/// Errors: corrupt when a part is missing or occurs twice; the message names the tensor and the gap
/// or overlap.
Result<StateSourcePtr> state_in_files(CheckpointHeader header,
                                      std::vector<SafetensorsReader> readers);

/// Opens the files that a manifest lists in its folder. Errors: corrupt when a file is missing or
/// has another size; the message names it.
Result<std::vector<SafetensorsReader>> open_files(const std::filesystem::path& folder,
                                                  const Manifest& manifest);

/// Compares the content of the files with the checksums of the manifest. Reads all bytes, several
/// files at a time.
Status verify_files(const std::vector<SafetensorsReader>& readers, const Manifest& manifest);

} // namespace troupe
