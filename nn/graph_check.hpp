/// Checks of a config with the graph of its model.
#pragma once

#include "core/config/validate.hpp"
#include "core/graph/graph.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

/// Returns conflicts for names in a config's key that are neither a unit ("layer1.0") nor a prefix
/// of units ("layer1").
ConfigConflicts unknown_units(const std::string& key, const std::vector<std::string>& used,
                              const std::vector<std::string>& units);

/// Returns conflicts if the config names, keeps alive, or makes fragments of, more units than have
/// parameters, or if it has more workers than parameters.
ConfigConflicts too_much_to_divide(const Config& config, const Graph& forward);

} // namespace troupe::nn
