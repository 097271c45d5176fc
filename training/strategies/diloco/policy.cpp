// DiLoCo (Douillard et al., "DiLoCo: Distributed Low-Communication Training of Language Models",
// 2023). Replica groups train independently for a round of steps; an outer optimizer then takes
// their parameter changes as pseudo-gradients. fragments.hpp defines when each part of the model
// ends its rounds.
#include "training/step_plan.hpp"

namespace troupe::training {

namespace {

/// Ranks of a replica group sum as in synchronous training. The groups agree after no step:
/// fragments end their rounds one after the other, and pseudo-gradients in flight return after the
/// groups have continued.
StepPlan plan_diloco(const Strategy& strategy, std::int64_t step) {
  auto plan = sync_rules.plan(strategy, step);
  plan.agrees = false;
  return plan;
}

/// A replica group that is ahead waits for the mean pseudo-gradients of the others. If those of a
/// quorum suffice, a late group may be one round behind.
std::int64_t diloco_window(const Strategy& strategy) {
  return 2 * strategy.rounds.steps + strategy.diloco.overlap + grants_ahead;
}

} // namespace

constexpr StepRules diloco_rules = {.plan = plan_diloco, .window = diloco_window};

} // namespace troupe::training
