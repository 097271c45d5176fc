#include "actors/membership/member_list.hpp"
#include "core/config/config.hpp"
#include "core/config/custom_key.hpp"
#include "nn/models/family.hpp"

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

Status admit(MemberList& member_list, const NodeInfo& node) {
  auto status = member_list.check(node);
  if (status)
    member_list.admit(node, std::ssize(member_list.nodes()));
  return status;
}

} // namespace

TEST_CASE("ranks follow the order in which nodes joined") {
  MemberList member_list{3};
  REQUIRE(admit(member_list, node("a:1", 2)));
  REQUIRE(admit(member_list, node("b:1", 1)));
  CHECK_FALSE(member_list.complete());
  CHECK(member_list.waiting_for() == "waiting for 1 more node (2 of 3: a:1, b:1)");
  REQUIRE(admit(member_list, node("c:1", 4)));
  REQUIRE(member_list.complete());
  CHECK(member_list.waiting_for().empty());
  const auto generation = member_list.generation(5, "secret", 8);
  CHECK(generation.number == 5);
  CHECK(generation.secret == "secret");
  CHECK(generation.world_size() == 7);
  CHECK(generation.nodes[1].first_rank == 2);
  CHECK(generation.node_of(0).address == "a:1");
  CHECK(generation.node_of(1).address == "a:1");
  CHECK(generation.node_of(2).address == "b:1");
  CHECK(generation.node_of(6).address == "c:1");
}

TEST_CASE("a node can take over the ranks of a lost one") {
  MemberList member_list{2};
  REQUIRE(admit(member_list, node("a:1", 2)));
  REQUIRE(admit(member_list, node("b:1", 1)));
  REQUIRE(admit(member_list, node("c:1", 1)));
  member_list.remove("b:1");
  member_list.admit(node("d:1", 1), 1);
  const auto generation = member_list.generation(2, "secret", 8);
  CHECK(generation.node_of(2).address == "d:1");
  CHECK(generation.node_of(3).address == "c:1");
}

TEST_CASE("a node of another job is refused, and the error names the difference") {
  Config config;
  MemberList member_list{2};
  REQUIRE(admit(member_list, node("a:1", 1, config)));
  config.train.optimizer.lr = 0.25;
  config.model.name = "resnet56";
  const auto refused = admit(member_list, node("b:1", 1, config));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::invalid_input);
  CHECK_THAT(refused.error().message, ContainsSubstring("train.optimizer.lr: 0.25 here, 0.1"));
  CHECK_THAT(refused.error().message, ContainsSubstring("model.name: resnet56 here"));
  CHECK_FALSE(member_list.complete());
}

TEST_CASE("nodes agree on the keys of custom models") {
  static const CustomKey<std::int64_t> rings = {"rings", 3, {}, "How many"};
  const nn::Family tree = {.names = {"tree"},
                           .keys = [](ModelConfig& model) -> std::vector<nn::ModelKey> {
                             return {{.key = custom_key(model, rings)}};
                           }};
  Config config;
  config.model.custom_families = CustomRows{std::vector{tree}};
  MemberList member_list{2};
  REQUIRE(admit(member_list, node("a:1", 1, config)));
  config.model.own["rings"] = std::int64_t{5};
  const auto refused = admit(member_list, node("b:1", 1, config));
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, ContainsSubstring("model.rings: 5 here, 3 at the leader"));
}

TEST_CASE("nodes may differ in file locations and devices") {
  Config config;
  MemberList member_list{2};
  REQUIRE(admit(member_list, node("a:1", 1, config)));
  config.data.root = "elsewhere";
  config.run.output = "elsewhere";
  config.devices.threads_per_worker = 7;
  config.cluster.listen = "b:1";
  config.metrics.listen = "off";
  CHECK(admit(member_list, node("b:1", 1, config)));
}

TEST_CASE("another version and a second node with the same address are refused") {
  MemberList member_list{1};
  REQUIRE(admit(member_list, node("a:1")));
  auto other = node("b:1");
  other.version = "2.0";
  CHECK_THAT(admit(member_list, other).error().message, ContainsSubstring("b:1 runs troupe 2.0"));
  CHECK_THAT(admit(member_list, node("a:1")).error().message,
             ContainsSubstring("already takes part in the job"));
}

TEST_CASE("a node that left can join again") {
  MemberList member_list{2};
  REQUIRE(admit(member_list, node("a:1")));
  REQUIRE(admit(member_list, node("b:1")));
  member_list.remove("b:1");
  CHECK_FALSE(member_list.complete());
  CHECK(admit(member_list, node("b:1")));
}

namespace {

using Parts = std::vector<training::RetainedShards>;

/// Returns a list of three nodes with these retained shards; the first node also has a checkpoint
/// after 40 steps.
MemberList with_parts(const std::vector<Parts>& parts) {
  MemberList member_list{1};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto info = node(std::string(1, static_cast<char>('a' + i)) + ":1");
    if (i == 0)
      info.offer = {.step = 40, .travels = true};
    info.offer.parts = parts[i];
    REQUIRE(admit(member_list, info));
  }
  return member_list;
}

} // namespace

TEST_CASE("nodes continue from the latest state of which together they retain all shards") {
  const auto member_list = with_parts({{{50, true, 3, {0, 2}}}, {{50, true, 3, {1, 0}}}, {}});
  const auto generation = member_list.generation(2, "secret", 6);
  CHECK(generation.step == 50);
  CHECK(generation.shards == 3);
  CHECK(generation.lacking() == 0); // no node receives a whole state
  CHECK(generation.nodes[0].retained == std::vector<std::int32_t>{0, 2});
  CHECK(generation.nodes[1].retained == std::vector<std::int32_t>{1, 0});
  CHECK(generation.nodes[2].retained.empty());
  CHECK(member_list.lost(generation).empty());
}

TEST_CASE(
    "a step that one node has applied is applied by all, and one that no node has is dropped") {
  const training::RetainedShards before{50, true, 2, {0}}, prepared{51, false, 2, {0}};
  const auto ahead = with_parts({{before, prepared}, {{51, true, 2, {1}}}});
  CHECK(ahead.generation(2, "secret", 6).step == 51);
  const auto even = with_parts({{before, prepared}, {{50, true, 2, {1}}, {51, false, 2, {1}}}});
  CHECK(even.generation(2, "secret", 6).step == 50);
}

TEST_CASE("when no node retains a shard, the job returns to the checkpoint and reports it") {
  const auto member_list = with_parts({{{50, true, 3, {0}}}, {{50, true, 3, {1, 0}}}});
  const auto generation = member_list.generation(2, "secret", 6);
  CHECK(generation.step == 40);
  CHECK(generation.shards == 0);
  CHECK(generation.nodes[1].lacks_state);
  CHECK(member_list.lost(generation) == "shard 3 of 3 of the state after 50 steps is lost: the job "
                                        "continues from the last checkpoint, at step 40");
}

TEST_CASE("shards of generations that divided the state differently are not combined") {
  const auto member_list = with_parts({{{50, true, 3, {0, 2}}}, {{50, true, 2, {1}}}});
  CHECK(member_list.generation(2, "secret", 6).step == 40);
}

TEST_CASE("retained shards older than the checkpoint are not used") {
  const auto member_list = with_parts({{{30, true, 1, {0}}}, {}});
  const auto generation = member_list.generation(2, "secret", 6);
  CHECK(generation.step == 40);
  CHECK(member_list.lost(generation).empty());
}
