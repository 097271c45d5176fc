/// How many mutated files a test looks at: `make fuzz` sets more.
#pragma once

#include <cstdlib>
#include <string>

namespace troupe::testing {

/// 500, or what TROUPE_FUZZ says.
inline unsigned fuzzed_files() {
  const char* const wanted = std::getenv("TROUPE_FUZZ");
  return wanted ? static_cast<unsigned>(std::stoul(wanted)) : 500;
}

} // namespace troupe::testing
