/// The rules of all step policies.
#pragma once

#include "collectives/step_policy.hpp"

namespace troupe::collectives {

extern const StepRules every_step, local_sgd, diloco, async;

/// Steps granted to a worker in advance: a window of several steps hides the latency of a grant.
inline constexpr std::int64_t grants_ahead = 4;

} // namespace troupe::collectives
