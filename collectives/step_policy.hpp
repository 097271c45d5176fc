/// When the ranks of a job synchronize under each policy (StepPolicy, core/config/strategies.hpp);
/// policies/ has a file for each. Pure functions of the step: all ranks compute the same answer
/// without messages.
#pragma once

#include "collectives/strategy.hpp"

#include <cstdint>

namespace troupe::collectives {

struct StepRules {
  /// Whether ranks sum their gradients of a bucket after a pass of this step; `ends_step` marks its
  /// last pass. In a step without any sum, each rank applies its own gradients.
  bool (*sums)(const Strategy& strategy, std::int64_t step, bool ends_step);
  /// Whether all ranks have the same state after this step.
  bool (*agree)(const Strategy& strategy, std::int64_t step);
  /// Steps that a rank may begin beyond the last step committed by all ranks.
  std::int64_t (*window)(const Strategy& strategy);
};

const StepRules& rules_of(StepPolicy policy);

} // namespace troupe::collectives
