/// When the ranks of a job meet, as each policy says it (StepPolicy, core/config/strategies.hpp): a
/// file of policies/ for each. Pure functions of the step, so that nobody has to be told.
#pragma once

#include "collectives/strategy.hpp"

#include <cstdint>

namespace troupe::collectives {

struct StepRules {
  /// Whether ranks sum their gradients of a bucket behind a pass of this step, which may end it.
  /// Where they never do in a step, each takes its own.
  bool (*sums)(const Strategy& strategy, std::int64_t step, bool ends_step);
  /// Whether all ranks have one state behind this step.
  bool (*agree)(const Strategy& strategy, std::int64_t step);
  /// Steps that a rank may begin beyond those that all have committed.
  std::int64_t (*window)(const Strategy& strategy);
};

const StepRules& rules_of(StepPolicy policy);

} // namespace troupe::collectives
