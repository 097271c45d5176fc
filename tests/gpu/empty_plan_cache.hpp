/// An empty folder for a device's cached plans.
#pragma once

#include "tests/support/environment_variable.hpp"
#include "tests/support/scratch_folder.hpp"

namespace troupe::testing {

/// While an object exists, plan registries that are opened store their plans in an empty folder.
/// Set it between tests, when no thread of a device reads the environment.
struct EmptyPlanCache {
  ScratchFolder folder;
  EnvironmentVariable cache{"XDG_CACHE_HOME", folder.path().c_str()};
};

} // namespace troupe::testing
