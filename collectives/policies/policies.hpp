/// All policies.
#pragma once

#include "collectives/step_policy.hpp"

namespace troupe::collectives {

extern const StepRules every_step, local_sgd, diloco, async;

/// A window of several steps hides the time that a grant takes to a worker.
inline constexpr std::int64_t grants_ahead = 4;

} // namespace troupe::collectives
