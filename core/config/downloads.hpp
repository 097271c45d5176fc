/// The folder of downloads, which was data/ before version 0.2.0.
#pragma once

#include "core/config/config.hpp"

namespace troupe {

/// Replaces "data/NAME" by "datasets/NAME" in data.root, data.test_root and data.tokenizer where
/// only the latter exists, and adds a line to config.notes for each.
void use_moved_downloads(Config& config);

} // namespace troupe
