/// Selects the engines that support a graph. All engines compute the same results; they differ in
/// the properties that a search looks at: numerical notes and workspace size. The rules for fusion
/// follow docs/cudnn-patterns.md for Hopper.
#pragma once

#include "tests/emulation/cudnn/graph.hpp"

#include <vector>

namespace emulation::cudnn {

struct Engine {
  std::int64_t index = -1;
  std::int64_t workspace_bytes = 0;
  bool tf32 = false;     ///< for f32 tensors
  bool compiled = false; ///< at run time
  std::vector<cudnnBackendNumericalNote_t> notes;
  bool launches = true; ///< false: plans can be made, but running them fails
};

/// Returns the engine with this index.
Engine engine_at(std::int64_t index, const Graph& graph);
/// Returns engine indices, best first; none when no engine supports the graph.
std::vector<std::int64_t> propose(const Graph& graph, cudnnBackendHeurMode_t mode);

} // namespace emulation::cudnn
