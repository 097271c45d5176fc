/// An empty folder for a device's cached plans.
#pragma once

#include "tests/support/scratch_folder.hpp"

#include <cstdlib>
#include <optional>
#include <string>

namespace troupe::testing {

/// While an object exists, plan registries that are opened store their plans in an empty folder.
/// Set it between tests, when no thread of a device reads the environment.
class EmptyPlanCache {
public:
  EmptyPlanCache() {
    if (const auto* const before = std::getenv(name))
      before_ = before;
    setenv(name, folder_.path().c_str(), 1);
  }
  EmptyPlanCache(const EmptyPlanCache&) = delete;
  EmptyPlanCache& operator=(const EmptyPlanCache&) = delete;
  ~EmptyPlanCache() { before_ ? setenv(name, before_->c_str(), 1) : unsetenv(name); }

private:
  static constexpr const char* name = "XDG_CACHE_HOME";
  testing::ScratchFolder folder_;
  std::optional<std::string> before_;
};

} // namespace troupe::testing
