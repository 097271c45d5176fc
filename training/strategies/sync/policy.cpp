// Synchronous training: ranks synchronize in every step.
#include "training/step_plan.hpp"

namespace troupe::training {

constexpr StepRules sync_rules = {
    .plan = [](const Strategy& strategy, std::int64_t /*step*/) -> StepPlan {
      return {.sums_passes = strategy.sums_shards()};
    },
    .window = [](const Strategy& /*strategy*/) { return grants_ahead; }};

} // namespace troupe::training
