#include "collectives/step_policy.hpp"

#include "collectives/policies/policies.hpp"

#include <array>

namespace troupe::collectives {

namespace {

/// By StepPolicy.
constexpr std::array rules = {&every_step, &local_sgd, &diloco, &async};

} // namespace

const StepRules& rules_of(StepPolicy policy) {
  return *rules[static_cast<std::size_t>(policy)];
}

} // namespace troupe::collectives
