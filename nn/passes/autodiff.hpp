/// Reverse-mode differentiation: adds the backward pass to a forward graph.
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

/// Differentiates the graph's only loss with respect to all parameters, each op by its record
/// (ops/record.hpp). Adds nodes of phase backward, with units in descending order. The gradient of
/// tensor X is named "X.grad", has X's dtype and, for a parameter, role gradient. Contributions of
/// several consumers are summed with `add`.
///
/// Images, labels and parameters that belong to a name in `freeze` (learning_rates.hpp) get no
/// gradient. So everything before the first trained unit has no backward. If one op computes
/// several gradients, those of frozen parameters are computed along with the others. Errors: no
/// loss or several; batch norm that is not training.
Result<Graph> autodiff(Graph forward, const std::vector<std::string>& freeze = {});

} // namespace troupe::nn
