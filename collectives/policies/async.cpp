// Asynchronous training with bounded staleness (Ho et al., "More Effective Distributed ML via a
// Stale Synchronous Parallel Parameter Server", NeurIPS 2013). Ranks do not synchronize. Parameter
// server shards apply a step when all of its slices have arrived.
#include "collectives/policies/policies.hpp"

namespace troupe::collectives {

namespace {

struct Async {
  /// Applies only with a single rank, which has no parameter server and applies its own sums.
  static bool sums(const Strategy& /*strategy*/, std::int64_t /*step*/, bool ends_step) {
    return ends_step;
  }

  /// A two-phase commit applies shards: a committed step is on all of them.
  static bool agree(const Strategy& /*strategy*/, std::int64_t /*step*/) { return true; }

  static std::int64_t window(const Strategy& strategy) {
    return strategy.world_size == 1 ? grants_ahead : strategy.staleness + 1;
  }
};

} // namespace

constexpr StepRules async = {.sums = Async::sums, .agree = Async::agree, .window = Async::window};

} // namespace troupe::collectives
