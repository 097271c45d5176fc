/// Finds the weights file that a path stands for: a weights file, a checkpoint, or a run's folder.
#pragma once

#include "core/error.hpp"

#include <filesystem>
#include <optional>

namespace troupe::inference {

struct FoundWeights {
  std::filesystem::path weights;
  /// Config of the run whose folder contains the weights; empty if none does.
  std::optional<std::filesystem::path> config = {};
};

/// In a run's folder, returns checkpoints/best if it exists, else the newest checkpoint. Does not
/// read weights. Errors: invalid_input if the path does not exist, or a folder has no checkpoint.
Result<FoundWeights> find_weights(const std::filesystem::path& path);

} // namespace troupe::inference
