// Local SGD (Stich, "Local SGD Converges Fast and Communicates Little", ICLR 2019): ranks train
// independently for a round of steps and are then averaged. The steps before the first round are
// synchronous: post-local SGD (Lin et al., "Don't Use Large Mini-Batches, Use Local SGD", ICLR
// 2020).
#include "training/step_plan.hpp"

namespace troupe::training {

/// Rounds are counted from step 0, wherever a run begins. A rank that is ahead waits for the others
/// only at the end of a round.
constexpr StepRules local_sgd_rules = {
    .plan = [](const Strategy& strategy, std::int64_t step) -> StepPlan {
      const bool sums = strategy.world_size == 1 || step < strategy.rounds.after;
      return {.sums = sums, .agrees = sums || (step + 1) % strategy.rounds.steps == 0};
    },
    .window = [](const Strategy& strategy) { return strategy.rounds.steps + grants_ahead; }};

} // namespace troupe::training
