/// Compatibility with the folder of downloads before version 0.2.0, data/.
#pragma once

#include "core/config/config.hpp"

namespace troupe {

/// Replaces "data/NAME" by "datasets/NAME" in data.root, data.validation and data.tokenizer if only
/// the latter exists. Adds a line to config.notes for each.
void use_moved_downloads(Config& config);

} // namespace troupe
