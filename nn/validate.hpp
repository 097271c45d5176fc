/// Checks that a graph is well formed, an invariant of all passes.
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"

namespace troupe::nn {

/// Checks ids, unique names, shapes and dtypes. Checks that every tensor is written once and before
/// it is read, that forward precedes backward, and that units ascend in forward and descend in
/// backward. Checks that a node uses the parameters, statistics and gradients of its own unit only.
/// Errors: the first violation, with the node and its unit.
Status validate(const Graph& graph);

} // namespace troupe::nn
