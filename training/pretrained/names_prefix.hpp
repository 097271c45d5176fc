/// Finds prefixes that wrappers add to all names of a model: "module." (DataParallel), "model.",
/// "_orig_mod.".
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace troupe::training {

/// Returns the most frequent prefix of names that end with one of the model's names; among equally
/// frequent ones, the shortest. Empty if no name does, or most have no prefix. Takes time
/// proportional to the names' length.
std::string names_prefix(std::span<const std::string_view> names,
                         std::span<const std::string_view> model);

} // namespace troupe::training
