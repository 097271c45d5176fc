/// Helpers that rewriting passes share.
#pragma once

#include "core/graph/graph.hpp"

#include <vector>

namespace troupe::nn {

/// Returns how often each tensor is an input, by TensorId.
std::vector<int> count_uses(const Graph& graph);

/// Removes activations and outputs that no node reads or writes, and renumbers the ids.
Graph drop_unused_tensors(const Graph& graph);

} // namespace troupe::nn
