/// The unit of work of asynchronous training.
#pragma once

#include <cstdint>

namespace troupe::data {

/// A slice of a step's global batch, assigned to one worker.
struct WorkItem {
  std::int64_t step = 0;
  int slice = 0;
  int worker = 0; ///< its rank
  bool operator==(const WorkItem&) const = default;
};

} // namespace troupe::data
