/// Divides the rows of a linear_cross_entropy into chunks, so that few logits are in memory at a
/// time.
#pragma once

#include "core/graph/graph.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe::gpu {

struct LogitChunks {
  std::int64_t rows, width, classes;

  LogitChunks(const Graph& graph, const Node& node)
      : rows{graph[node.inputs[0]].shape[0]}, width{graph[node.inputs[0]].shape[1]},
        classes{graph[node.inputs[1]].shape[0]} {}

  /// Returns the rows of a chunk: a multiple of 128, so that each chunk begins at an aligned
  /// address. Its logits take at most 256 MiB, unless 128 rows take more. In backward each chunk
  /// reads and writes all of dweight once, so small chunks would be slow.
  std::int64_t chunk() const {
    constexpr std::int64_t logits = 64 << 20, group = 128;
    return std::min(rows, std::max(logits / classes / group, std::int64_t{1}) * group);
  }
  std::int64_t count() const { return (rows + chunk() - 1) / chunk(); }
  /// Rows of the last chunk.
  std::int64_t last() const { return rows - (count() - 1) * chunk(); }
};

} // namespace troupe::gpu
