// Synchronous training: ranks synchronize in every step.
#include "collectives/policies/policies.hpp"

namespace troupe::collectives {

namespace {

struct EveryStep {
  /// Sums once at the end of a step, or after each pass if the sum is sharded.
  static bool sums(const Strategy& strategy, std::int64_t /*step*/, bool ends_step) {
    return ends_step || strategy.sums_shards();
  }

  static bool agree(const Strategy& /*strategy*/, std::int64_t /*step*/) { return true; }

  static std::int64_t window(const Strategy& /*strategy*/) { return grants_ahead; }
};

} // namespace

constexpr StepRules every_step = {
    .sums = EveryStep::sums, .agree = EveryStep::agree, .window = EveryStep::window};

} // namespace troupe::collectives
