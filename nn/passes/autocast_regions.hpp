/// Where autocast is off (model.autocast_off), as nested `with torch.autocast(enabled=...)` around
/// the forward of modules.
#pragma once

#include "core/config/validate.hpp"
#include "core/graph/graph.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe::nn {

/// Names of modules (modules.hpp). "NAME" switches autocast off inside of NAME, "-NAME" on again.
/// The innermost that a module is within decides.
using AutocastRegions = std::vector<std::string>;

bool is_autocast(std::string_view module, const AutocastRegions& off);

/// Names that the model does not have, and entries that change nothing: off inside of off, on
/// inside of on.
ConfigConflicts find_conflicts(const AutocastRegions& off, const Graph& forward);

} // namespace troupe::nn
