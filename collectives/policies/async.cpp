// Asynchronous training with bounded staleness (Ho et al., "More Effective Distributed ML via a
// Stale Synchronous Parallel Parameter Server", NeurIPS 2013): ranks do not meet; owners of shards
// apply a step when all of its slices have come.
#include "collectives/policies/policies.hpp"

namespace troupe::collectives {

namespace {

struct Async {
  /// A rank alone is nobody's owner: it takes its own sums.
  static bool sums(const Strategy& /*strategy*/, std::int64_t /*step*/, bool ends_step) {
    return ends_step;
  }

  /// Shards are applied by vote: a step that counts is on all of them.
  static bool agree(const Strategy& /*strategy*/, std::int64_t /*step*/) { return true; }

  static std::int64_t window(const Strategy& strategy) {
    return strategy.world_size == 1 ? grants_ahead : strategy.staleness + 1;
  }
};

} // namespace

constexpr StepRules async = {.sums = Async::sums, .agree = Async::agree, .window = Async::window};

} // namespace troupe::collectives
