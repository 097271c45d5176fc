#include "tests/support/source_tree.hpp"

#include <cstdlib>

namespace troupe::testing {

std::filesystem::path source_tree() {
  const char* moved = std::getenv("TROUPE_SOURCE_DIR");
  return moved != nullptr ? moved : TROUPE_SOURCE_DIR;
}

} // namespace troupe::testing
