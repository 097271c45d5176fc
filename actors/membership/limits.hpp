/// Limits of waits. An empty limit does not apply.
#pragma once

#include "actors/membership/job_state.hpp"

#include <optional>

namespace troupe::actors {

/// Returns the earlier of two times; the only one if the other is empty.
inline std::optional<Time> earlier(std::optional<Time> one, std::optional<Time> other) {
  return !one || (other && *other < *one) ? other : one;
}

/// Whether a limit is over. Then it no longer applies.
inline bool is_due(std::optional<Time>& limit, Time now) {
  if (!limit || now < *limit)
    return false;
  limit.reset();
  return true;
}

} // namespace troupe::actors
