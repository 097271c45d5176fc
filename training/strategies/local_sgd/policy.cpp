// Local SGD (Stich, "Local SGD Converges Fast and Communicates Little", ICLR 2019): ranks train
// independently for a round of steps and are then averaged. The steps before the first round are
// synchronous: post-local SGD (Lin et al., "Don't Use Large Mini-Batches, Use Local SGD", ICLR
// 2020).
#include "training/step_plan.hpp"

namespace troupe::training {

namespace {

/// Rounds are counted from step 0, wherever a run begins.
StepPlan plan_local_sgd(const Strategy& strategy, std::int64_t step) {
  const bool sums = strategy.world_size == 1 || step < strategy.rounds.after;
  return {.sums = sums, .agrees = sums || (step + 1) % strategy.rounds.steps == 0};
}

/// A rank that is ahead waits for the others only at the end of a round.
std::int64_t local_sgd_window(const Strategy& strategy) {
  return strategy.rounds.steps + grants_ahead;
}

} // namespace

constexpr StepRules local_sgd_rules = {.plan = plan_local_sgd, .window = local_sgd_window};

} // namespace troupe::training
