/// How many mutated files a test reads: `make fuzz` sets more.
#pragma once

#include <cstdlib>
#include <string>

namespace troupe::testing {

/// 500, or the value of TROUPE_FUZZ.
inline unsigned fuzzed_files() {
  const char* const wanted = std::getenv("TROUPE_FUZZ");
  return wanted ? static_cast<unsigned>(std::stoul(wanted)) : 500;
}

} // namespace troupe::testing
