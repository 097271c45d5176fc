/// Assignments for tests of generations that vote, in one process.
#pragma once

#include "training/node_assignment.hpp"

namespace troupe::testing {

/// Returns an assignment with all ranks in this process. They vote as ranks of several processes
/// do, because a second node without ranks takes part.
inline training::NodeAssignment voting_assignment(std::int32_t workers) {
  auto assignment = training::single_node_assignment(workers, "here");
  assignment.generation.nodes.push_back(
      {.address = {}, .host = "elsewhere", .first_rank = workers, .workers = 0});
  return assignment;
}

} // namespace troupe::testing
