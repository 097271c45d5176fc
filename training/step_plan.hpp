/// The plan of a step: the work that the ranks of a job do together, and when. Pure functions of
/// the step: all ranks compute the same answer without messages.
#pragma once

#include "training/strategy.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace troupe::training {

/// Made once, when the step begins (GradientReducerSetup::step_plan), and kept with the step's
/// work. `sums`, `sums_passes` and `agrees` are those of the strategy's policy.
struct StepPlan {
  std::int64_t step = -1; ///< below 0: none
  /// Ranks sum their gradients; false: each rank applies its own.
  bool sums = true;
  /// They do so after each pass, not only after the last: a rank sums only its shard.
  bool sums_passes = false;
  bool agrees = true; ///< all ranks have the same state after the step
  bool votes = false; ///< the step is applied after a vote of all ranks
  bool measures_norm = false;
  /// The optimizer updates a bucket before the step's other buckets are reduced: nothing depends on
  /// all gradients together.
  bool applies_early = false;
  /// Buckets from this element of the flat space on are published as soon as they are updated,
  /// during backward, and the others during the next forward.
  std::size_t published_early = SIZE_MAX;
  bool ends_round = false; ///< ranks have trained apart, and agree again

  /// Whether the gradients summed so far are reduced after a pass; `ends_step`: it is the last.
  bool sums_after_pass(bool ends_step) const { return sums && (ends_step || sums_passes); }
  bool publishes_early(const Bucket& bucket) const { return bucket.offset >= published_early; }
};

/// A step policy (StepPolicy, core/config/strategies.hpp).
struct StepRules {
  StepPlan (*plan)(const Strategy& strategy, std::int64_t step);
  /// Steps that a rank may begin beyond the last step committed by all ranks.
  std::int64_t (*window)(const Strategy& strategy);
};

// Defined in strategies/NAME/policy.cpp.
extern const StepRules sync_rules, local_sgd_rules, diloco_rules, async_rules;

inline const StepRules& rules_of(StepPolicy policy) {
  static constexpr std::array by_policy = {&sync_rules, &local_sgd_rules, &diloco_rules,
                                           &async_rules};
  return *by_policy[static_cast<std::size_t>(policy)];
}

/// Steps granted to a worker in advance: a window of several steps hides the latency of a grant.
inline constexpr std::int64_t grants_ahead = 4;

} // namespace troupe::training
