/// Helpers that rewriting passes share.
#pragma once

#include "core/graph/graph.hpp"

#include <functional>
#include <vector>

namespace troupe::nn {

/// Removes the nodes for which `wanted` returns false. Visits the last node first. `uses` counts
/// how often the remaining nodes read each tensor.
void drop_nodes(Graph& graph,
                const std::function<bool(const Node&, const std::vector<int>& uses)>& wanted);

/// Removes activations and outputs that no node reads or writes, and renumbers the ids.
Graph drop_unused_tensors(const Graph& graph);

} // namespace troupe::nn
