/// When the ranks of a job meet, as each policy says it (StepPolicy, core/config/strategies.hpp).
#pragma once

#include "strategy.hpp"

#include <cstdint>

namespace troupe::collectives {

/// Passes are counted from the first of the run, `accumulate` of them to a step.
struct StepRules {
  /// Whether ranks sum their gradients of a bucket behind this pass.
  bool (*meets)(const Strategy& strategy, std::int64_t pass, std::int64_t accumulate);
  /// Steps that a rank may begin beyond those that all have committed.
  std::int64_t window;
};

const StepRules& rules_of(StepPolicy policy);

} // namespace troupe::collectives
