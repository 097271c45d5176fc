/// For tests of generations that vote, in one process.
#pragma once

#include "engine/seat.hpp"

namespace troupe::testing {

/// All ranks are here, and vote as those of several processes do: a second node has none.
inline engine::Seat voting_seat(std::int32_t workers) {
  auto seat = engine::seat_alone(workers, "here");
  seat.generation.nodes.push_back(
      {.address = {}, .host = "elsewhere", .first_rank = workers, .workers = 0});
  return seat;
}

} // namespace troupe::testing
