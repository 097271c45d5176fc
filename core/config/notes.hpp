/// What is no error in a config, and yet should be known.
#pragma once

#include "catalogue.hpp"

#include <string>
#include <vector>

namespace troupe {

/// A line each, of a config that is good: deprecated keys that are used, and keys that change
/// nothing for the model.
std::vector<std::string> config_notes(const Config& config, const Catalogue& catalogue);

} // namespace troupe
