// Tests how nodes resume from a state whose shards are spread over them.
#include "actors/node/shard_transfer.hpp"
#include "tests/support/loopback.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <future>
#include <numeric>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::int32_t shards = 3;
constexpr std::size_t shard_elements = 100'000; // several chunks

/// Returns a state with these shards of three. Element i of tensor "w" is i; shard s has the s-th
/// third of the tensor.
std::shared_ptr<const training::RetainedState> held(const std::vector<std::int32_t>& which,
                                                    std::int64_t step = 7) {
  auto state = std::make_shared<training::RetainedState>();
  state->header = {.step = step, .epoch = 2, .metadata = {{"loss_scale", "1024"}}, .tensors = {}};
  state->shards = {.step = step, .shards = shards};
  for (const auto shard : which) {
    const std::shared_ptr<float[]> values{new float[shard_elements]};
    const auto first = static_cast<std::size_t>(shard) * shard_elements;
    std::iota(values.get(), values.get() + shard_elements, static_cast<float>(first));
    state->add(shard,
               {{.name = "w",
                 .shape = {shards * static_cast<std::int64_t>(shard_elements)},
                 .stored = shards * shard_elements,
                 .first = first,
                 .elements = shard_elements}},
               values);
  }
  const std::shared_ptr<float[]> mean{new float[1]{0.5f}};
  state->parts.push_back(
      {{.what = {.name = "mean", .shape = {1}, .stored = 1, .first = 0, .elements = 1}},
       {mean.get(), 1}});
  state->storage.push_back(mean);
  return state;
}

/// Nodes that retain these shards.
struct Holders {
  explicit Holders(std::vector<std::vector<std::int32_t>> holdings)
      : loopback{static_cast<int>(holdings.size())} {
    generation.step = 7;
    generation.shards = shards;
    for (std::size_t i = 0; i < holdings.size(); ++i) {
      generation.nodes.push_back(
          {.address = "node " + std::to_string(i), .data = to_string(loopback.endpoints[i])});
      generation.nodes.back().retained = holdings[i];
      states.push_back(holdings[i].empty() ? nullptr : held(holdings[i]));
    }
  }

  training::NodeAssignment assignment(std::size_t node) const {
    return {.refused = {}, .generation = generation, .node = static_cast<std::int32_t>(node)};
  }
  std::unique_ptr<ShardServer> serve(std::size_t node) {
    return std::make_unique<ShardServer>(loopback.join_group(static_cast<int>(node)),
                                         assignment(node), states[node], timeouts);
  }
  Result<StateSourcePtr> gather(std::size_t node) {
    return gather_shards(loopback.join_group(static_cast<int>(node)), assignment(node),
                         states[node], timeouts, [](const std::string&) {});
  }

  testing::Loopback loopback;
  training::GenerationRecord generation;
  std::vector<std::shared_ptr<const training::RetainedState>> states;
  TimeoutsConfig timeouts{.collective = 20s, .quorum = 30s};
};

void check_whole(const StateSource& state) {
  CHECK(state.header().step == 7);
  CHECK(state.header().epoch == 2);
  CHECK(state.header().metadata.at("loss_scale") == "1024");
  std::vector<float> expected(shards * shard_elements);
  std::iota(expected.begin(), expected.end(), 0.0f);
  std::vector<float> values(expected.size());
  REQUIRE(state.read(*state.find("w"), 0, values));
  CHECK(values == expected);
  REQUIRE(state.read(*state.find("w"), 99'999, std::span{values}.first(2)));
  CHECK(values[0] == 99'999);
  CHECK(values[1] == 100'000);
  REQUIRE(state.read(*state.find("mean"), 0, std::span{values}.first(1)));
  CHECK(values[0] == 0.5f);
}

} // namespace

TEST_CASE("nodes that together retain a state each read their missing shards from the others") {
  Holders cluster{{{0, 2}, {1, 0}, {}}}; // one node has just joined
  std::vector<std::unique_ptr<ShardServer>> servers;
  for (const std::size_t node : {0, 1})
    servers.push_back(cluster.serve(node));
  std::vector<std::future<Result<StateSourcePtr>>> gathering;
  for (const std::size_t node : {0, 1, 2})
    gathering.push_back(std::async(std::launch::async, [&, node] { return cluster.gather(node); }));
  for (auto& each : gathering) {
    const auto state = each.get();
    INFO((state ? "" : state.error().to_string()));
    REQUIRE(state);
    check_whole(**state);
  }
}

TEST_CASE("a node that retains the whole state reads from no other node") {
  Holders cluster{{{0, 1, 2}}};
  check_whole(**cluster.gather(0));
}

TEST_CASE("a node notices when the node that it reads from is lost") {
  Holders cluster{{{0, 2}, {1, 0}}};
  auto server = cluster.serve(1);
  const auto state = cluster.gather(0);
  REQUIRE(state);
  server.reset();
  std::vector<float> values(1);
  const auto read = (*state)->read(*(*state)->find("w"), shard_elements, values);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Errc::network);
}

TEST_CASE("a node that waits for shards is told why they do not come") {
  Holders cluster{{{0, 2}, {1, 0}}};
  auto gathering = std::async(std::launch::async, [&] { return cluster.gather(0); });
  cluster.loopback.join_group(0)->cancel({Errc::network, "node c:1 was lost"});
  CHECK_FALSE(gathering.get());
}

TEST_CASE("shards of another step are refused") {
  Holders cluster{{{0, 2}, {1, 0}}};
  cluster.states[1] = held({1, 0}, 6);
  const auto server = cluster.serve(1);
  const auto state = cluster.gather(0);
  REQUIRE_FALSE(state);
  CHECK(state.error().code == Errc::corrupt);
  CHECK_THAT(state.error().message, ContainsSubstring("of step 6, but step 7 is needed"));
}

TEST_CASE("a shard server can end before any node has connected") {
  Holders cluster{{{0, 2}, {1, 0}}};
  CHECK(cluster.serve(0));
}
