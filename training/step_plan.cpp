#include "training/step_plan.hpp"

#include <array>

namespace troupe::training {

const StepRules& rules_of(StepPolicy policy) {
  static constexpr std::array by_policy = {&sync_rules, &local_sgd_rules, &diloco_rules,
                                           &async_rules};
  return *by_policy[static_cast<std::size_t>(policy)];
}

} // namespace troupe::training
