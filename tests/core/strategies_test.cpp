#include "tests/core/config_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("every strategy is read and printed by its name") {
  for (const auto& traits : strategies) {
    const auto config = good(synthetic, {"parallel.strategy=" + std::string{traits.name},
                                         traits.alone ? "devices.count=1" : "devices.count=4"});
    CHECK(config.parallel.strategy == traits.kind);
    CHECK(printed(config).find("\n  strategy: " + std::string{traits.name} + "\n") !=
          std::string::npos);
    CHECK(choice_named<StrategyKind>(traits.name) == traits.kind);
  }
  CHECK(choice_named<StrategyKind>("zero4") == std::nullopt);
}

TEST_CASE("an unknown strategy or a value of another type is refused with the nearest name") {
  const std::string allowed =
      "; allowed: single, dp, ddp, zero1, zero2, zero3, fsdp, hsdp, local_sgd, diloco, async";
  CHECK(problems(synthetic + "parallel: {strategy: fdsp}\n") ==
        Lines{"a.yaml:2:22: parallel.strategy: \"fdsp\" is not a choice" + allowed +
              "; did you mean \"fsdp\"?"});
  CHECK(problems(synthetic + "parallel: {strategy: 3}\n") ==
        Lines{"a.yaml:2:22: parallel.strategy: 3 is not text; write it in quotes" + allowed});
  CHECK(problems(synthetic + "parallel: {strategy: ~}\n") ==
        Lines{"a.yaml:2:12: parallel.strategy: needs a value" + allowed});
}

TEST_CASE("an alias of a strategy has the traits of the strategy in the row above") {
  for (const auto& traits : strategies)
    if (traits.alias) {
      const auto& other = strategies[static_cast<std::size_t>(traits.kind) - 1];
      CHECK(traits.divides == other.divides);
      CHECK(traits.group == other.group);
      CHECK(traits.policy == other.policy);
      CHECK(traits.root_only == other.root_only);
    }
}

TEST_CASE("the number of shards follows from the strategy and the number of workers") {
  const auto shards = [](StrategyKind kind, std::int64_t workers) {
    return ParallelConfig{.strategy = kind, .shard_group = 2}.shards(workers);
  };
  CHECK(shards(StrategyKind::ddp, 4) == 1);
  CHECK(shards(StrategyKind::zero1, 4) == 4);
  CHECK(shards(StrategyKind::fsdp, 3) == 3);
  CHECK(shards(StrategyKind::hsdp, 4) == 2);
  CHECK(shards(StrategyKind::hsdp, 3) == 3); // 3 ranks fill no whole groups
  CHECK(shards(StrategyKind::diloco, 4) == 1);
  ParallelConfig groups{.strategy = StrategyKind::diloco};
  groups.diloco = {.group_size = 2, .inner = StrategyKind::zero2};
  CHECK(groups.shards(8) == 2);
  CHECK(groups.shards(3) == 3);
  CHECK(groups.divides() == Divided::gradients);
}
