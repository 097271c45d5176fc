/// Where a device's book of plans lies, for a while.
#pragma once

#include "tests/support/scratch_folder.hpp"

#include <cstdlib>
#include <optional>
#include <string>

namespace troupe::testing {

/// An empty folder that books opened from now on keep their plans in, until this ends. Between
/// tests no thread of a device asks for the environment.
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
