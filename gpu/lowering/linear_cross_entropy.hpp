/// Divides the rows of a linear_cross_entropy into chunks, so that few logits are in memory at a
/// time.
#pragma once

#include "core/device/executable.hpp"
#include "core/graph/graph.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe::gpu {

struct LogitChunks {
  std::int64_t rows, width, classes;
  DType dtype;             ///< of x and the logits
  std::int64_t most_bytes; ///< CompileOptions::logit_bytes

  LogitChunks(const Graph& graph, const Node& node,
              std::size_t logit_bytes = CompileOptions{}.logit_bytes)
      : rows{graph[node.inputs[0]].shape[0]}, width{graph[node.inputs[0]].shape[1]},
        classes{graph[node.inputs[1]].shape[0]}, dtype{graph[node.inputs[0]].dtype},
        most_bytes{static_cast<std::int64_t>(logit_bytes)} {}

  /// Returns the rows of a chunk: a multiple of 128, so that each chunk begins at an aligned
  /// address. Chunks have about the same size.
  std::int64_t chunk() const {
    constexpr std::int64_t group = 128;
    const auto row_bytes = classes * static_cast<std::int64_t>(size_of(dtype));
    const auto most = std::max(most_bytes / row_bytes / group, std::int64_t{1}) * group;
    const auto even = divide_up(rows, divide_up(rows, most));
    return std::min(rows, divide_up(even, group) * group);
  }
  std::int64_t count() const { return divide_up(rows, chunk()); }
  /// Rows of the last chunk.
  std::int64_t last() const { return rows - (count() - 1) * chunk(); }

private:
  static std::int64_t divide_up(std::int64_t value, std::int64_t by) {
    return (value + by - 1) / by;
  }
};

} // namespace troupe::gpu
