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

/// All of it in memory. Tensors carry the names of the graph, which are a PyTorch state_dict's:
/// parameters and statistics as they are ("layer1.0.conv1.weight", "layer1.0.bn1.running_mean"),
/// the optimizer's state as "optimizer.momentum.NAME", "optimizer.exp_avg.NAME",
/// "optimizer.exp_avg_sq.NAME".
struct Checkpoint {
  std::int64_t step = 0; ///< the last committed step
  std::int64_t epoch = 0;
  /// What resuming has to agree on, and what a reader wants to know: seed, model, optimizer, ...
  std::map<std::string, std::string> metadata;
  std::vector<CheckpointTensor> tensors;
  /// What `tensors` point into; null when they are the caller's.
  std::shared_ptr<const std::byte[]> storage = nullptr;

  /// Null when there is none.
  const CheckpointTensor* find(std::string_view name) const;
};

/// "optimizer.momentum." + name, for state "momentum".
std::string optimizer_tensor_name(std::string_view state, std::string_view name);
bool is_optimizer_tensor(std::string_view name);

struct CheckpointEntry {
  std::string name;
  Shape shape;
};

/// A checkpoint before its values.
struct CheckpointHeader {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::map<std::string, std::string> metadata;
  std::vector<CheckpointEntry> tensors;
};

CheckpointHeader header_of(const Checkpoint& checkpoint);

/// SHA-256 over the fp32 values of all parameters (canonical layout, little-endian) in name order:
/// equal exactly when two runs ended with the same parameters bit for bit.
std::string parameters_sha256(const std::map<std::string, std::span<const float>>& parameters);

} // namespace troupe
