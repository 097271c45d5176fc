/// Files of the source tree that tests read.
#pragma once

#include <filesystem>

namespace troupe::testing {

/// Programs of a GPU bundle run far from where they were compiled: there $TROUPE_SOURCE_DIR says
/// where the tree is.
std::filesystem::path source_tree();

} // namespace troupe::testing
