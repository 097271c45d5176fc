/// Checks that a model has enough units and parameters to divide among ranks (parallel.*).
#pragma once

#include "core/config/validate.hpp"
#include "core/graph/graph.hpp"

namespace troupe::nn {

/// Returns conflicts if the config names, keeps alive, or makes fragments of, more units than have
/// parameters, or if it has more workers than parameters.
ConfigConflicts too_much_to_divide(const Config& config, const Graph& forward);

} // namespace troupe::nn
