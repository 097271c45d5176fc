// Local SGD (Stich, "Local SGD Converges Fast and Communicates Little", ICLR 2019): ranks train
// independently for a round of steps and are then averaged. The steps before the first round are
// synchronous: post-local SGD (Lin et al., "Don't Use Large Mini-Batches, Use Local SGD", ICLR
// 2020).
#include "collectives/policies/policies.hpp"

namespace troupe::collectives {

namespace {

struct LocalSgd {
  static bool is_synchronous(const Strategy& strategy, std::int64_t step) {
    return strategy.world_size == 1 || step < strategy.rounds.after;
  }

  static bool sums(const Strategy& strategy, std::int64_t step, bool ends_step) {
    return ends_step && is_synchronous(strategy, step);
  }

  /// Rounds are counted from step 0, wherever a run begins.
  static bool agree(const Strategy& strategy, std::int64_t step) {
    return is_synchronous(strategy, step) || (step + 1) % strategy.rounds.steps == 0;
  }

  /// A rank that is ahead waits for the others only at the end of a round.
  static std::int64_t window(const Strategy& strategy) {
    return strategy.rounds.steps + grants_ahead;
  }
};

} // namespace

constexpr StepRules local_sgd = {
    .sums = LocalSgd::sums, .agree = LocalSgd::agree, .window = LocalSgd::window};

} // namespace troupe::collectives
