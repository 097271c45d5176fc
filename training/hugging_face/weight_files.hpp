/// The files of weights in one of Hugging Face's folders.
#pragma once

#include "core/checkpoint/safetensors.hpp"

#include <filesystem>
#include <vector>

namespace troupe::training {

/// model.safetensors, or else what model.safetensors.index.json names: at most 256 files of the
/// folder itself, each of which has exactly the tensors that the index says. Headers are read, no
/// values. Errors: invalid_input (no such files; an index that is wrong, or not of these files);
/// corrupt, io.
Result<std::vector<SafetensorsReader>> open_weight_files(const std::filesystem::path& folder);

} // namespace troupe::training
