/// The limits of Membership's own waits.
#pragma once

#include "actors/membership/job_state.hpp"

#include <optional>

namespace troupe::actors {

/// Empty: the limit does not apply.
struct Limits {
  std::optional<Time> form = {}, quorum = {}; ///< of gathering
  std::optional<Time> successors = {};        ///< for the nodes of a lost leader to join
  std::optional<Time> decision = {};          ///< for the voters to decide a record
  std::optional<Time> connection = {};        ///< for ranks to connect, before links are probed
};

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
