// Asynchronous training with bounded staleness (Ho et al., "More Effective Distributed ML via a
// Stale Synchronous Parallel Parameter Server", NeurIPS 2013). Ranks do not synchronize. Parameter
// server shards apply a step when all of its slices have arrived.
#include "training/step_plan.hpp"

namespace troupe::training {

/// Ranks agree because a two-phase commit applies shards: a committed step is on all of them. Only
/// a single rank sums by this plan: it has no parameter server and applies its own sums.
constexpr StepRules async_rules = {
    .plan = [](const Strategy& /*strategy*/, std::int64_t /*step*/) { return StepPlan{}; },
    .window =
        [](const Strategy& strategy) {
          return strategy.world_size == 1 ? grants_ahead : strategy.async.staleness + 1;
        }};

} // namespace troupe::training
