/// Reverse-mode differentiation: adds the backward pass to a forward graph.
#pragma once

#include "troupe/core/error.hpp"
#include "troupe/core/graph/graph.hpp"

namespace troupe::nn {

/// Differentiates the graph's one loss with respect to all parameters, each op by its record
/// (ops/record.hpp). Adds nodes of phase backward, units from the last to the first; the gradient
/// of tensor X is called "X.grad", has X's dtype and, for a parameter, role gradient. Contributions
/// of several consumers are summed with `add`. What needs no gradient gets none: images, labels.
/// Errors: no loss or several; batch norm that is not training.
Result<Graph> autodiff(Graph forward);

} // namespace troupe::nn
