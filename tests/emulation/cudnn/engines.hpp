/// Which engines take a graph. They compute the same, and differ in what a search looks at: what
/// they say of their arithmetic, and how much workspace they want. Which graphs fuse follows
/// docs/cudnn-patterns.md for Hopper.
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
  bool launches = true; ///< false: plans are made of it, and refused when they are run
};

/// The engine with this index.
Engine engine_at(std::int64_t index, const Graph& graph);
/// Indices, best first; none where nothing takes the graph.
std::vector<std::int64_t> propose(const Graph& graph, cudnnBackendHeurMode_t mode);

} // namespace emulation::cudnn
