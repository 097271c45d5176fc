/// Traits of a machine: the lines of `troupe doctor`.
#pragma once

#include <string>
#include <vector>

namespace troupe {

struct Trait {
  std::string section, name, value;
  bool found = true;  ///< false: missing, but nothing fails without it
  bool usable = true; ///< false: a job that uses it fails
};
using Traits = std::vector<Trait>;

} // namespace troupe
