/// Whether a graph is well formed: what every pass expects and keeps.
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"

namespace troupe::nn {

/// Checks ids, unique names, shapes and dtypes; that every tensor is written once and before it is
/// read; that forward comes before backward, forward in ascending and backward in descending order
/// of units; that a node uses the parameters, statistics and gradients of its own unit only.
/// Errors: the first thing that is wrong, with the node and its unit.
Status validate(const Graph& graph);

} // namespace troupe::nn
