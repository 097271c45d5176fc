/// What rewriting passes share.
#pragma once

#include "core/graph/graph.hpp"

#include <vector>

namespace troupe::nn {

/// How often each tensor is an input, by TensorId.
std::vector<int> count_uses(const Graph& graph);

/// Drops activations and outputs that no node reads or writes any more; ids are numbered again.
Graph drop_unused_tensors(const Graph& graph);

} // namespace troupe::nn
