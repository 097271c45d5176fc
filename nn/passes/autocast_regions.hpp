/// Regions where autocast is off (model.autocast_off), like nested `with
/// torch.autocast(enabled=...)` around the forward of modules.
#pragma once

#include "core/config/validate.hpp"
#include "core/graph/graph.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe::nn {

/// Names of modules (modules.hpp). "NAME" switches autocast off inside NAME, "-NAME" switches it on
/// again. The innermost entry that contains a module applies.
using AutocastRegions = std::vector<std::string>;

bool is_autocast(std::string_view module, const AutocastRegions& off);

/// Returns conflicts: names that the model does not have, and entries without effect, which are off
/// inside off or on inside on.
ConfigConflicts find_conflicts(const AutocastRegions& off, const Graph& forward);

} // namespace troupe::nn
