/// Data of the page of a running process. The server calls these only on its thread.
#pragma once

#include <functional>
#include <string>

namespace troupe::metrics {

struct PageSources {
  std::function<std::string()> document; ///< the whole document (docs/files.md), as JSON
  std::function<std::string()> changes;  ///< changes since the last call, as JSON; empty: none
  /// Called with true when the first client begins to follow, with false when the last one leaves.
  std::function<void(bool)> watched;
};

} // namespace troupe::metrics
