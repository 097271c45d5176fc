/// Which file of weights a path means: a weights file, a checkpoint, or a run's folder.
#pragma once

#include "core/error.hpp"

#include <filesystem>
#include <optional>

namespace troupe::inference {

struct FoundWeights {
  std::filesystem::path weights;
  /// Of the run that they belong to, where its folder is around them.
  std::optional<std::filesystem::path> config = {};
};

/// Of a run's folder: checkpoints/best where it is there, else the newest checkpoint. Does not read
/// weights. Errors: invalid_input where there is nothing at the path, or no checkpoint in a folder.
Result<FoundWeights> find_weights(const std::filesystem::path& path);

} // namespace troupe::inference
