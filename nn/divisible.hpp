/// Whether a model has as much to divide as parallel.* asks for.
#pragma once

#include "core/config/validate.hpp"
#include "core/graph/graph.hpp"

namespace troupe::nn {

/// Conflicts where the config names, keeps alive, or makes fragments of, more units than have
/// parameters, or has more workers than there are parameters.
ConfigConflicts too_much_to_divide(const Config& config, const Graph& forward);

} // namespace troupe::nn
