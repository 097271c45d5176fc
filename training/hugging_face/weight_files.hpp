/// Weight files of Hugging Face folders.
#pragma once

#include "core/checkpoint/safetensors.hpp"

#include <filesystem>
#include <vector>

namespace troupe::training {

/// Opens model.safetensors or, if missing, the files that model.safetensors.index.json names: at
/// most 256 files in the folder itself, each with exactly the tensors that the index lists for it.
/// Reads headers only. Errors: invalid_input (no such files; an index that is invalid, or does not
/// match the files); corrupt, io.
Result<std::vector<SafetensorsReader>> open_weight_files(const std::filesystem::path& folder);

} // namespace troupe::training
