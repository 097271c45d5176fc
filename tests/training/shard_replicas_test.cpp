// Tests which rank has the replica of which shard.
#include "core/config/config.hpp"
#include "training/shard_replicas.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::training;
using Catch::Matchers::ContainsSubstring;

namespace {

struct DaemonOn {
  std::string host;
  std::int32_t workers = 1;
};

GenerationRecord record_of(const std::vector<DaemonOn>& nodes) {
  GenerationRecord record;
  for (const auto& [host, workers] : nodes)
    record.nodes.push_back({.address = host + ":" + std::to_string(record.nodes.size()),
                            .host = host,
                            .first_rank = record.nodes.empty() ? 0 : record.world_size(),
                            .workers = workers});
  return record;
}

ParallelConfig parallel(StrategyKind strategy) {
  ParallelConfig config;
  config.strategy = strategy;
  return config;
}

ShardReplicas shard_replicas_in(const GenerationRecord& record, const ParallelConfig& config) {
  return shard_replicas_of(config, strategy_of(config, record.world_size()), record);
}

int distance(const std::vector<DaemonOn>& nodes) {
  return shard_replicas_in(record_of(nodes), parallel(StrategyKind::zero2)).distance;
}

bool outlives(const std::vector<DaemonOn>& nodes, const ParallelConfig& config) {
  const auto record = record_of(nodes);
  const auto strategy = strategy_of(config, record.world_size());
  return outlives_a_node(strategy, shard_replicas_of(config, strategy, record), record);
}

} // namespace

TEST_CASE("a rank's shard replica is on the next host") {
  CHECK(distance({{"a"}, {"b"}}) == 1);
  CHECK(distance({{"a", 4}, {"b", 4}, {"c", 4}}) == 4);
  const auto shard_replicas =
      shard_replicas_in(record_of({{"a", 2}, {"b", 2}, {"c", 2}}), parallel(StrategyKind::zero3));
  CHECK(shard_replicas.replica_rank_of(0) == 2);
  CHECK(shard_replicas.replica_rank_of(5) == 1);
  for (int rank = 0; rank < 6; ++rank)
    CHECK(shard_replicas.owner_of(shard_replicas.replica_rank_of(rank)) == rank);
}

TEST_CASE("with different numbers of workers per host, each shard replica is on another host") {
  CHECK(distance({{"a", 1}, {"b", 3}, {"c", 2}}) == 3);
  CHECK(distance({{"a", 2}, {"b", 1}}) == 0); // three ranks, two of them on one host
}

TEST_CASE("daemons on the same host count as hosts only if there is no other host") {
  CHECK(distance({{"a"}, {"a"}, {"a"}}) == 1);
  CHECK(distance({{"a"}, {"a"}, {"b"}, {"b"}}) == 2);
  CHECK(distance({{"a"}, {"b"}, {"b"}, {"a"}}) == 2);
  CHECK(distance({{"a"}, {"a"}, {"b"}}) == 0);
}

TEST_CASE("shard replicas exist if the state has no other copies") {
  const auto two = record_of({{"a", 2}, {"b", 2}});
  for (const auto strategy :
       {StrategyKind::zero1, StrategyKind::zero2, StrategyKind::zero3, StrategyKind::fsdp})
    CHECK(shard_replicas_in(two, parallel(strategy)));
  CHECK_FALSE(shard_replicas_in(two, parallel(StrategyKind::ddp)));
  CHECK_FALSE(shard_replicas_in(two, parallel(StrategyKind::hsdp))); // two copies of the state
  auto one_copy = parallel(StrategyKind::hsdp);
  one_copy.shard_group = 4;
  CHECK(shard_replicas_in(two, one_copy));
  auto off = parallel(StrategyKind::zero1);
  off.replicate_shards = ReplicateShards::off;
  CHECK_FALSE(shard_replicas_in(two, off));
}

TEST_CASE("a node's state has a copy elsewhere, or the lack of one is reported") {
  auto config = parallel(StrategyKind::zero1);
  CHECK(outlives({{"a"}, {"b"}}, config));
  CHECK(outlives({{"a", 2}}, config)); // there is no other host
  CHECK(outlives({{"a", 2}, {"b", 2}}, parallel(StrategyKind::ddp)));
  CHECK(outlives({{"a", 2}, {"b", 2}}, parallel(StrategyKind::hsdp)));
  CHECK_FALSE(outlives({{"a", 2}, {"b"}}, config));
  CHECK_THAT(
      lacks_copies(config, record_of({{"a", 2}, {"b"}})),
      ContainsSubstring("zero1 divides the state, and one host has more than half of the workers: "
                        "if a node is lost, the job resumes from the last checkpoint"));
  CHECK(lacks_copies(config, record_of({{"a"}, {"b"}})).empty());
  config.replicate_shards = ReplicateShards::off;
  CHECK_THAT(lacks_copies(config, record_of({{"a"}, {"b"}})),
             ContainsSubstring("parallel.replicate_shards is off"));
  // Ranks 0 and 2 hold both copies of one shard, and both are on the first node.
  CHECK_THAT(lacks_copies(parallel(StrategyKind::hsdp), record_of({{"a", 3}, {"b"}})),
             ContainsSubstring("all workers that hold some part of it are on one node"));
}

TEST_CASE("ranks prepare steps only if a node lacks some of the shards") {
  const auto apart = [](const std::vector<DaemonOn>& nodes, StrategyKind kind) {
    const auto record = record_of(nodes);
    return lies_apart(strategy_of(parallel(kind), record.world_size()), record);
  };
  CHECK(apart({{"a", 2}, {"b", 2}}, StrategyKind::zero1));
  CHECK_FALSE(apart({{"a", 2}, {"b", 2}}, StrategyKind::hsdp));
  CHECK(apart({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}}, StrategyKind::hsdp));
  CHECK_FALSE(apart({{"a", 2}, {"b", 2}}, StrategyKind::ddp));
}

TEST_CASE("nodes read missing shards from different holders") {
  auto record = record_of({{"a"}, {"b"}, {"c"}, {"d"}});
  record.shards = 3;
  record.nodes[0].retained = {0, 2};
  record.nodes[1].retained = {1, 0};
  record.nodes[2].retained = {2, 1};
  CHECK(record.holder_of(0, 0) == 0);
  CHECK(record.holder_of(0, 1) == 1);
  CHECK(record.holder_of(1, 0) != 0);
  for (std::int32_t shard = 0; shard < 3; ++shard) {
    const auto holder = record.holder_of(shard, 3);
    CHECK(std::ranges::count(record.nodes[holder].retained, shard) == 1);
  }
  CHECK(record.holder_of(0, 2) != record.holder_of(0, 3));
}
