// DiLoCo (Douillard et al., "DiLoCo: Distributed Low-Communication Training of Language Models",
// 2023): teams train by themselves for a round of steps, and an outer optimizer takes what they
// have changed for a gradient. fragments.hpp says when each part of the model ends its rounds.
#include "collectives/policies/policies.hpp"

namespace troupe::collectives {

namespace {

struct Diloco {
  /// Ranks of a team do, as those of a job that meet in every step.
  static bool sums(const Strategy& strategy, std::int64_t step, bool ends_step) {
    return every_step.sums(strategy, step, ends_step);
  }

  /// They are brought to it: fragments end their rounds one after the other, and what is under way
  /// comes back when teams have gone on.
  static bool agree(const Strategy& /*strategy*/, std::int64_t /*step*/) { return false; }

  /// A team that is ahead waits for the means of the others' changes; where those of a quorum are
  /// enough, one that is late may be a round behind.
  static std::int64_t window(const Strategy& strategy) {
    return 2 * strategy.rounds.steps + strategy.outer.overlap + grants_ahead;
  }
};

} // namespace

constexpr StepRules diloco = {
    .sums = Diloco::sums, .agree = Diloco::agree, .window = Diloco::window};

} // namespace troupe::collectives
