/// Checks names of a model's units in the config.
#pragma once

#include "core/config/validate.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

/// Returns conflicts for names in a config's key that are neither a unit ("layer1.0") nor a prefix
/// of units ("layer1").
ConfigConflicts unknown_units(const std::string& key, const std::vector<std::string>& used,
                              const std::vector<std::string>& units);

} // namespace troupe::nn
