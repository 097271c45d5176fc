/// What a page that follows a run asks of it. The server calls these from its own thread alone.
#pragma once

#include <functional>
#include <string>

namespace troupe::metrics {

struct PageSources {
  std::function<std::string()> document; ///< the whole document (docs/files.md), as JSON
  std::function<std::string()>
      changes; ///< what has changed since the last call, as JSON; empty: nothing
  std::function<void(bool)> watched; ///< whether anybody follows from now on
};

} // namespace troupe::metrics
