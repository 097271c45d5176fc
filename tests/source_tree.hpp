/// Files of the source tree that tests read. Programs of a GPU bundle run far from where they were
/// compiled: there $TROUPE_SOURCE_DIR says where the tree is.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace troupe::testing {

inline std::filesystem::path source_tree() {
  const char* moved = std::getenv("TROUPE_SOURCE_DIR");
  return moved != nullptr ? moved : TROUPE_SOURCE_DIR;
}

} // namespace troupe::testing
