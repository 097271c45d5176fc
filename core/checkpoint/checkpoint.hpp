/// The state of a training run between two steps.
#pragma once

#include "core/graph/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// fp32 values in canonical layout (row-major in `shape`; see ParameterCodec).
struct CheckpointTensor {
  std::string name;
  Shape shape;
  std::span<const float> values;
};

/// A state that is entirely in memory. Tensors have the names of the graph, which are those of a
/// PyTorch state_dict: parameters and statistics as they are ("layer1.0.conv1.weight",
/// "layer1.0.bn1.running_mean"), optimizer state as "optimizer.momentum.NAME",
/// "optimizer.exp_avg.NAME", "optimizer.exp_avg_sq.NAME".
struct Checkpoint {
  std::int64_t step = 0; ///< the last committed step
  std::int64_t epoch = 0;
  /// Values that must match on resume, and information for readers: seed, model, optimizer, ...
  std::map<std::string, std::string> metadata;
  std::vector<CheckpointTensor> tensors;
  /// Owns the memory that `tensors` point into; null if the caller owns it.
  std::shared_ptr<const std::byte[]> storage = nullptr;

  /// Returns null if no tensor has this name.
  const CheckpointTensor* find(std::string_view name) const;
};

/// Returns "optimizer.momentum." + name for state "momentum".
std::string optimizer_tensor_name(std::string_view state, std::string_view name);
bool is_optimizer_tensor(std::string_view name);

struct CheckpointEntry {
  std::string name;
  Shape shape;
};

/// A checkpoint without its values.
struct CheckpointHeader {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::map<std::string, std::string> metadata;
  std::vector<CheckpointEntry> tensors;
};

/// Returns the SHA-256 of the fp32 values of all parameters (canonical layout, little-endian) in
/// order of their names. Two runs have the same digest exactly if their parameters are bit-for-bit
/// equal.
std::string parameters_sha256(const std::map<std::string, std::span<const float>>& parameters);

} // namespace troupe
