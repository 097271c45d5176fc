/// Times of the steps of one pass, for profiles.
#pragma once

#include "core/graph/graph.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// A step: the work of one node, with what the device has fused into it.
struct StepTime {
  std::string name; ///< as the device calls it: the op, and how it is computed
  /// Index in the graph; empty for work that belongs to several nodes.
  std::optional<std::size_t> node = {};
  /// The tensors that the step reads or writes in memory, each once, if they are not exactly those
  /// of its node: others are fused with it, or another step has found them in the cache.
  std::optional<std::vector<TensorId>> tensors = {};
  std::chrono::nanoseconds time{};
};

struct PassTimes {
  const Graph* graph = nullptr;     ///< as compiled; lives as long as the executable
  std::vector<StepTime> steps = {}; ///< in the order in which they ran
};

} // namespace troupe
