#include "step_policy.hpp"

#include <array>

namespace troupe::collectives {

namespace {

/// The sum of a step's passes, or each of them where that sum is divided.
bool every_step(const Strategy& strategy, bool ends_step) {
  return ends_step || strategy.sums_shards();
}

/// The rules by StepPolicy. A window of several steps hides the time that a grant takes to a
/// worker.
constexpr std::array rules = {StepRules{.meets = every_step, .window = 4}};

} // namespace

const StepRules& rules_of(StepPolicy policy) {
  return rules[static_cast<std::size_t>(policy)];
}

} // namespace troupe::collectives
