#include "actors/membership/member_list.hpp"
#include "actors/membership/worker_groups.hpp"
#include "core/config/config.hpp"
#include "training/strategy.hpp"

#include <catch2/catch_test_macros.hpp>

#include <numeric>

using namespace troupe;
using namespace troupe::actors;

namespace {

using Workers = std::vector<std::int32_t>;

/// Calls `check` for every number of workers from 1 to `most` on each node.
void for_all_nodes(std::size_t nodes, std::int32_t most, const auto& check) {
  Workers workers(nodes, 1);
  while (true) {
    check(workers);
    auto node = workers.begin();
    while (node != workers.end() && *node == most)
      *node++ = 1;
    if (node == workers.end())
      return;
    ++*node;
  }
}

/// Returns the most workers that fill whole groups, over all choices of nodes with the leader.
std::int64_t most_trainers(const Workers& workers, std::int64_t group) {
  std::int64_t most = 0;
  for (std::uint32_t choice = 1; choice < 1u << workers.size(); choice += 2) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < workers.size(); ++i)
      sum += (choice >> i & 1) != 0 ? workers[i] : 0;
    if (sum % group == 0)
      most = std::max(most, sum);
  }
  return most;
}

/// Checks that every communicator group of the strategy has all of its ranks.
void check_strategy(const ParallelConfig& parallel, int workers) {
  const auto strategy = training::strategy_of(parallel, workers);
  CHECK(strategy.copies() * strategy.shards == workers);
  CHECK(strategy.replica_groups() * strategy.replica_group == workers);
  CHECK(strategy.replica_group % strategy.shards == 0);
}

NodeInfo holding(const std::string& address, std::int32_t shard) {
  NodeInfo node{.address = address};
  node.offer.parts = {{.step = 9, .shards = 4, .retained = {shard}}};
  return node;
}

} // namespace

TEST_CASE("with every strategy and any number of remaining workers, whole groups train") {
  for (const auto& traits : strategies)
    for (const std::int64_t group : {2, 3, 4})
      for (const auto inner : {StrategyKind::ddp, StrategyKind::zero3})
        for (std::int32_t left = 1; left <= 12; ++left) {
          ParallelConfig parallel{.strategy = traits.kind, .shard_group = group};
          parallel.diloco = {.group_size = group, .inner = inner};
          CAPTURE(to_string(traits.kind), group, to_string(inner), left);
          const Workers workers(static_cast<std::size_t>(left), 1);
          const auto trained = count_trainers(workers, parallel.group());
          CHECK(trained == left - left % parallel.group());
          check_strategy(parallel, left); // as one group they save the state
          if (trained > 0)
            check_strategy(parallel, static_cast<int>(trained));
        }
}

TEST_CASE("with different numbers of workers per node, whole groups train") {
  for (const std::int64_t group : {1, 2, 3, 4, 5})
    for (std::size_t nodes = 1; nodes <= 5; ++nodes)
      for_all_nodes(nodes, 3, [&](const Workers& workers) {
        CAPTURE(group, workers);
        const auto trains = choose_trainers(workers, group);
        const auto trained = count_trainers(workers, group);
        CHECK(trained == most_trainers(workers, group));
        CHECK(trains.empty() == (trained == 0));
        CHECK((trains.empty() || trains.front()));
      });
}

TEST_CASE("the last nodes wait, never the leader") {
  CHECK(choose_trainers(Workers{1, 1, 1, 1, 1}, 2) ==
        std::vector<bool>{true, true, true, true, false});
  CHECK(choose_trainers(Workers{1, 2, 1, 2}, 3) == std::vector<bool>{true, true, true, true});
  CHECK(choose_trainers(Workers{1, 2, 2}, 2).empty());
}

TEST_CASE("nodes with the only copy of a shard train before others") {
  const std::vector<NodeInfo> nodes = {holding("a:1", 0), holding("c:1", 2), holding("d:1", 3),
                                       holding("e:1", 0), holding("f:1", 1), holding("g:1", 2)};
  const auto ordered = MemberList::by_need(nodes);
  std::string addresses;
  for (const auto& node : ordered)
    addresses += node.address.front();
  CHECK(addresses == "acdfeg");
}
