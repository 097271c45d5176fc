// Synchronous training: ranks synchronize in every step.
#include "training/step_plan.hpp"

namespace troupe::training {

namespace {

StepPlan plan_sync(const Strategy& strategy, std::int64_t /*step*/) {
  return {.sums_passes = strategy.sums_shards()};
}

std::int64_t sync_window(const Strategy& /*strategy*/) {
  return grants_ahead;
}

} // namespace

constexpr StepRules sync_rules = {.plan = plan_sync, .window = sync_window};

} // namespace troupe::training
