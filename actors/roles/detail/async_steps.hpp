/// COORDINATOR's steps in asynchronous training: their slices, and the ranks' votes to apply them.
/// Has no actors or clocks.
#pragma once

#include "actors/roles/detail/step_votes.hpp"
#include "data/work_items.hpp"

#include <optional>

namespace troupe::actors {

struct AsyncSteps {
  data::WorkItems items;
  StepVotes votes;
  bool assigns_later = false; ///< assigning is scheduled, for the end of a wait tolerance

  /// Returns the next step if all its slices are computed and all ranks have voted for it. It is
  /// applied then.
  std::optional<std::int64_t> take_agreed() {
    const auto step = items.applied();
    if (!items.is_complete() || !votes.agree(step))
      return std::nullopt;
    votes.close(step);
    items.apply();
    return step;
  }
};

} // namespace troupe::actors
