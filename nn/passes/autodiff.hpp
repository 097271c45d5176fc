/// Reverse-mode differentiation: adds the backward pass to a forward graph.
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

/// Differentiates the graph's one loss with respect to all parameters, each op by its record
/// (ops/record.hpp). Adds nodes of phase backward, units from the last to the first; the gradient
/// of tensor X is called "X.grad", has X's dtype and, for a parameter, role gradient. Contributions
/// of several consumers are summed with `add`. What needs no gradient gets none: images, labels,
/// and parameters that belong to a name in `freeze` (learning_rates.hpp), so that what lies below
/// the first unit that is trained has no backward at all. Where one op makes several gradients,
/// those of frozen parameters are made along with the others. Errors: no loss or several; batch
/// norm that is not training.
Result<Graph> autodiff(Graph forward, const std::vector<std::string>& freeze = {});

} // namespace troupe::nn
