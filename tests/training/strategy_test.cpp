#include "core/config/config.hpp"
#include "training/step_plan.hpp"
#include "training/strategy.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace troupe;
using namespace troupe::training;

namespace {

using Target = OffloadConfig::Target;

Strategy offloading(StrategyKind strategy, const OffloadConfig& offload, int world_size) {
  ParallelConfig parallel;
  parallel.strategy = strategy;
  parallel.offload = offload;
  return strategy_of(parallel, world_size);
}

} // namespace

TEST_CASE("the offload ratio leaves whole vectors at the front on the device") {
  CHECK(Strategy{}.kept(1000) == 1000);
  CHECK(offloading(StrategyKind::ddp, {Target::optimizer, 1}, 2).kept(1000) == 0);
  const auto half = offloading(StrategyKind::ddp, {Target::optimizer, 0.5}, 2);
  CHECK(half.kept(1000) == 496);
  CHECK(half.kept(1600) == 800);
  CHECK(half.kept(20) == 0);
  CHECK(offloading(StrategyKind::ddp, {Target::optimizer, 0.25}, 2).kept(1 << 20) == 3 << 18);
}

TEST_CASE("a single rank divides nothing, but gathers offloaded parameters") {
  const auto optimizer = offloading(StrategyKind::fsdp, {Target::optimizer, 1}, 1);
  CHECK(optimizer.offloads());
  CHECK_FALSE(optimizer.divides_parameters);
  CHECK_FALSE(optimizer.divides_optimizer);
  const auto parameters = offloading(StrategyKind::fsdp, {Target::parameters, 1}, 1);
  CHECK(parameters.shards == 1);
  CHECK(parameters.divides_parameters);
  CHECK(parameters.divides_gradients);
  CHECK(parameters.offloads_parameters);
  CHECK_FALSE(offloading(StrategyKind::fsdp, {}, 1).divides_parameters);
}

TEST_CASE("ranks divide their state as the table of strategies states") {
  const auto [kind, shards, divided, root] = GENERATE(table<StrategyKind, int, int, bool>({
      {StrategyKind::single, 1, 0, false},
      {StrategyKind::dp, 1, 0, true},
      {StrategyKind::ddp, 1, 0, false},
      {StrategyKind::zero1, 8, 1, false},
      {StrategyKind::zero2, 8, 2, false},
      {StrategyKind::zero3, 8, 3, false},
      {StrategyKind::fsdp, 8, 3, false},
      {StrategyKind::hsdp, 4, 3, false},
      {StrategyKind::local_sgd, 1, 0, false},
      {StrategyKind::diloco, 1, 0, false},
      {StrategyKind::async, 8, 3, false},
  }));
  CAPTURE(to_string(kind));
  ParallelConfig parallel{.strategy = kind, .shard_group = 4};
  const auto strategy = strategy_of(parallel, kind == StrategyKind::single ? 1 : 8);
  CHECK(strategy.shards == shards);
  CHECK(strategy.divides_optimizer + strategy.divides_gradients + strategy.divides_parameters ==
        divided);
  CHECK(strategy.root_only == root);
}

TEST_CASE("every step: ranks reduce after its last pass, or after each pass if they shard sums") {
  const auto found = [](const Strategy& strategy) {
    const auto plan = rules_of(StepPolicy::every_step).plan(strategy, 0);
    return std::vector<bool>{plan.sums_after_pass(false), plan.sums_after_pass(true)};
  };
  ParallelConfig parallel{.strategy = StrategyKind::zero2, .no_sync = false};
  const std::vector<bool> last = {false, true};
  CHECK(found(strategy_of(parallel, 2)) == std::vector<bool>(2, true));
  parallel.strategy = StrategyKind::zero1;
  CHECK(found(strategy_of(parallel, 2)) == last);
  parallel = {.strategy = StrategyKind::zero2, .no_sync = true};
  CHECK(found(strategy_of(parallel, 2)) == last);
}

TEST_CASE("async: a rank may be ahead by the staleness, and a single rank does not wait") {
  ParallelConfig parallel{.strategy = StrategyKind::async};
  parallel.async.staleness = 5;
  const auto& rules = rules_of(StepPolicy::async);
  const auto together = strategy_of(parallel, 4), alone = strategy_of(parallel, 1);
  CHECK((together.is_asynchronous() && !together.trains_apart()));
  CHECK_FALSE(together.reshard_after_forward); // a whole copy to read
  CHECK(rules.window(together) == 6);
  CHECK_FALSE(alone.is_asynchronous());
  CHECK_FALSE(alone.divides_parameters);
  CHECK(rules.window(alone) == 4);
  CHECK((rules.plan(together, 0).agrees && rules.plan(together, 7).agrees));
}

TEST_CASE("local_sgd: ranks average at the ends of rounds, and in every step before the first") {
  const auto& rules = rules_of(StepPolicy::local_sgd);
  ParallelConfig parallel{.strategy = StrategyKind::local_sgd};
  parallel.local_sgd = {.steps = 4, .after = 2};
  const auto strategy = strategy_of(parallel, 2);
  std::vector<int> summed, agreed;
  for (int step = 0; step < 13; ++step) {
    const auto plan = rules.plan(strategy, step);
    if (plan.sums_after_pass(true))
      summed.push_back(step);
    if (plan.agrees)
      agreed.push_back(step);
    CHECK_FALSE(plan.sums_after_pass(false));
  }
  CHECK(summed == std::vector<int>{0, 1});
  CHECK(agreed == std::vector<int>{0, 1, 3, 7, 11});
  CHECK(rules.plan(strategy_of(parallel, 1), 2).agrees); // a single rank always agrees
}

TEST_CASE("diloco: ranks reduce within their replica groups and never average by themselves") {
  const auto& rules = rules_of(StepPolicy::diloco);
  ParallelConfig parallel{.strategy = StrategyKind::diloco};
  parallel.diloco = {.steps = 4,
                     .group_size = 2,
                     .inner = StrategyKind::zero1,
                     .fragments = 2,
                     .overlap = 3,
                     .compress = Compression::int4};
  const auto strategy = strategy_of(parallel, 6);
  CHECK((strategy.replica_group == 2 && strategy.replica_groups() == 3 && strategy.shards == 2));
  CHECK((strategy.divides_optimizer && !strategy.divides_gradients));
  CHECK((strategy.trains_apart() && strategy_of(parallel, 2).trains_apart()));
  CHECK(strategy.diloco.compress == Compression::int4);
  CHECK(rules.plan(strategy, 0).sums_after_pass(true));
  CHECK_FALSE(rules.plan(strategy, 0).sums_after_pass(false));
  CHECK_FALSE(rules.plan(strategy, 3).agrees);
  CHECK(rules.window(strategy) >= 2 * 4 + 3); // a slow rank may be a round late
  CHECK((strategy.leads_replica_group(4) && strategy.leads_replica_group(5)));
  parallel.diloco.inner = StrategyKind::ddp;
  CHECK((strategy_of(parallel, 6).leads_replica_group(4) &&
         !strategy_of(parallel, 6).leads_replica_group(5)));
}
