/// For tests of generations that vote, in one process.
#pragma once

#include "training/node_assignment.hpp"

namespace troupe::testing {

/// All ranks are here, and vote as those of several processes do: a second node has none.
inline training::NodeAssignment voting_assignment(std::int32_t workers) {
  auto assignment = training::single_node_assignment(workers, "here");
  assignment.generation.nodes.push_back(
      {.address = {}, .host = "elsewhere", .first_rank = workers, .workers = 0});
  return assignment;
}

} // namespace troupe::testing
