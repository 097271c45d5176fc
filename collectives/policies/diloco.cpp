// DiLoCo (Douillard et al., "DiLoCo: Distributed Low-Communication Training of Language Models",
// 2023). Replica groups train independently for a round of steps; an outer optimizer then takes
// their parameter changes as pseudo-gradients. fragments.hpp defines when each part of the model
// ends its rounds.
#include "collectives/policies/policies.hpp"

namespace troupe::collectives {

namespace {

struct Diloco {
  /// Ranks of a replica group sum as in synchronous training.
  static bool sums(const Strategy& strategy, std::int64_t step, bool ends_step) {
    return every_step.sums(strategy, step, ends_step);
  }

  /// False in every step: fragments end their rounds one after the other, and pseudo-gradients in
  /// flight return after the groups have continued.
  static bool agree(const Strategy& /*strategy*/, std::int64_t /*step*/) { return false; }

  /// A replica group that is ahead waits for the mean pseudo-gradients of the others. If those of a
  /// quorum suffice, a late group may be one round behind.
  static std::int64_t window(const Strategy& strategy) {
    return 2 * strategy.rounds.steps + strategy.outer.overlap + grants_ahead;
  }
};

} // namespace

constexpr StepRules diloco = {
    .sums = Diloco::sums, .agree = Diloco::agree, .window = Diloco::window};

} // namespace troupe::collectives
