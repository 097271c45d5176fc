/// Finds files of the source tree.
#pragma once

#include <filesystem>

namespace troupe::testing {

/// Returns the root of the source tree. Programs of a GPU bundle run on machines other than the one
/// that compiled them: there, $TROUPE_SOURCE_DIR is that root.
std::filesystem::path source_tree();

} // namespace troupe::testing
