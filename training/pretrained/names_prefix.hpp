/// What wrappers put before all names of a model: "module." (DataParallel), "model.", "_orig_mod.".
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace troupe::training {

/// What stands before most of the names that end with one of the model's; the shortest of several.
/// Empty: nothing, or no name does. Takes time in proportion to the names' length.
std::string names_prefix(std::span<const std::string_view> names,
                         std::span<const std::string_view> model);

} // namespace troupe::training
