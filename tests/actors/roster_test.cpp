#include "troupe/actors/cluster/roster.hpp"
#include "troupe/core/config/config.hpp"
#include "troupe/core/config/own_key.hpp"
#include "troupe/nn/models/family.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::actors;
using Catch::Matchers::ContainsSubstring;

namespace {

NodeInfo node(const std::string& address, std::int32_t rank_count = 1, const Config& config = {}) {
  return {.address = address,
          .host = {},
          .version = "1.0",
          .workers = rank_count,
          .job = shared_settings(config)};
}

Status admit(Roster& roster, const NodeInfo& node) {
  auto status = roster.check(node);
  if (status)
    roster.admit(node, std::ssize(roster.nodes()));
  return status;
}

} // namespace

TEST_CASE("ranks follow the order in which nodes were admitted") {
  Roster roster{3, 3};
  REQUIRE(admit(roster, node("a:1", 2)));
  REQUIRE(admit(roster, node("b:1", 1)));
  CHECK_FALSE(roster.complete());
  CHECK(roster.waiting_for() == "waiting for 1 more node (2 of 3: a:1, b:1)");
  REQUIRE(admit(roster, node("c:1", 4)));
  REQUIRE(roster.complete());
  CHECK(roster.waiting_for().empty());
  const auto generation = roster.generation(5, "secret", 8);
  CHECK(generation.number == 5);
  CHECK(generation.secret == "secret");
  CHECK(generation.world_size() == 7);
  CHECK(generation.nodes[1].first_rank == 2);
  CHECK(generation.node_of(0).address == "a:1");
  CHECK(generation.node_of(1).address == "a:1");
  CHECK(generation.node_of(2).address == "b:1");
  CHECK(generation.node_of(6).address == "c:1");
}

TEST_CASE("a node can get the ranks of one that has gone") {
  Roster roster{2, 3};
  REQUIRE(admit(roster, node("a:1", 2)));
  REQUIRE(admit(roster, node("b:1", 1)));
  REQUIRE(admit(roster, node("c:1", 1)));
  roster.remove("b:1");
  roster.admit(node("d:1", 1), 1);
  const auto generation = roster.generation(2, "secret", 8);
  CHECK(generation.node_of(2).address == "d:1");
  CHECK(generation.node_of(3).address == "c:1");
}

TEST_CASE("a node of another job is refused, with what differs") {
  Config config;
  Roster roster{2, 2};
  REQUIRE(admit(roster, node("a:1", 1, config)));
  config.train.optimizer.lr = 0.25;
  config.model.name = "resnet56";
  const auto refused = admit(roster, node("b:1", 1, config));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::invalid_input);
  CHECK_THAT(refused.error().message, ContainsSubstring("train.optimizer.lr: 0.25 here, 0.1"));
  CHECK_THAT(refused.error().message, ContainsSubstring("model.name: resnet56 here"));
  CHECK_FALSE(roster.complete());
}

TEST_CASE("nodes agree on keys of their own models, too") {
  static const OwnKey<std::int64_t> rings = {"rings", 3, {}, "How many"};
  const nn::Family tree = {.names = {"tree"},
                           .keys = [](ModelConfig& model) -> std::vector<nn::ModelKey> {
                             return {{.key = own_key(model, rings)}};
                           }};
  Config config;
  config.model.own_families = OwnRows{std::vector{tree}};
  Roster roster{2, 2};
  REQUIRE(admit(roster, node("a:1", 1, config)));
  config.model.own["rings"] = std::int64_t{5};
  const auto refused = admit(roster, node("b:1", 1, config));
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, ContainsSubstring("model.rings: 5 here, 3 at the leader"));
}

TEST_CASE("where a node keeps its files and what devices it has is its own affair") {
  Config config;
  Roster roster{2, 2};
  REQUIRE(admit(roster, node("a:1", 1, config)));
  config.data.root = "elsewhere";
  config.run.output = "elsewhere";
  config.devices.threads_per_worker = 7;
  config.cluster.listen = "b:1";
  config.metrics.listen = "off";
  CHECK(admit(roster, node("b:1", 1, config)));
}

TEST_CASE("another version, a second node of one address and one too many are refused") {
  Roster roster{1, 2};
  REQUIRE(admit(roster, node("a:1")));
  auto other = node("b:1");
  other.version = "2.0";
  CHECK_THAT(admit(roster, other).error().message, ContainsSubstring("b:1 is troupe 2.0"));
  CHECK_THAT(admit(roster, node("a:1")).error().message, ContainsSubstring("takes part already"));
  REQUIRE(admit(roster, node("b:1")));
  CHECK_THAT(admit(roster, node("c:1")).error().message,
             ContainsSubstring("cluster.max_nodes is 2"));
}

TEST_CASE("a node that left can come again") {
  Roster roster{2, 2};
  REQUIRE(admit(roster, node("a:1")));
  REQUIRE(admit(roster, node("b:1")));
  roster.remove("b:1");
  CHECK_FALSE(roster.complete());
  CHECK(admit(roster, node("b:1")));
}
