/// The number of voters that can decide.
#pragma once

#include <cstddef>
#include <set>

namespace troupe::actors {

/// Whether `some` voters are a majority, or exactly half including the first, which is the leader.
/// Any two quorums have a voter in common.
inline bool is_quorum(const std::set<std::size_t>& some, std::size_t all) {
  return 2 * some.size() > all || (2 * some.size() == all && some.contains(0));
}

} // namespace troupe::actors
