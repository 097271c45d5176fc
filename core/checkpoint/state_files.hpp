/// States that lie in files: one, or all of a checkpoint's folder.
#pragma once

#include "core/checkpoint/manifest.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/checkpoint/state_source.hpp"

#include <filesystem>
#include <vector>

namespace troupe {

/// Tensors of any floating type, whole or in parts that lie in several files. Errors: corrupt where
/// a part is missing or there twice, named with what is there.
Result<StateSourcePtr> state_in_files(CheckpointHeader header,
                                      std::vector<SafetensorsReader> readers);

/// Opens the files of a manifest in its folder. Errors: corrupt where one is missing or has another
/// size (named).
Result<std::vector<SafetensorsReader>> open_files(const std::filesystem::path& folder,
                                                  const Manifest& manifest);

/// Whether their content is what the manifest says. Reads all of it, several files at a time.
Status verify_files(const std::vector<SafetensorsReader>& readers, const Manifest& manifest);

} // namespace troupe
