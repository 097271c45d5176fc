/// When the ranks of a job meet, as each policy says it (StepPolicy, core/config/strategies.hpp).
#pragma once

#include "strategy.hpp"

#include <cstdint>

namespace troupe::collectives {

struct StepRules {
  /// Whether ranks sum their gradients of a bucket behind a pass, which may end its step.
  bool (*meets)(const Strategy& strategy, bool ends_step);
  /// Steps that a rank may begin beyond those that all have committed.
  std::int64_t window;
};

const StepRules& rules_of(StepPolicy policy);

} // namespace troupe::collectives
