// Breaks a link between the data ports of two nodes while a job trains, and repairs it.
#include "tests/system/counting.hpp"
#include "tests/system/crew.hpp"
#include "tests/system/cut.hpp"
#include "tests/system/daemons.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <filesystem>

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr int data_port = 7501;

const Settings settings = {"parallel.strategy=ddp",
                           "cluster.nodes.min=2",
                           "cluster.nodes.max=3",
                           "cluster.listen.data_port=7501",
                           "cluster.timeouts.detection=1s",
                           "cluster.timeouts.collective=3s",
                           "cluster.timeouts.quorum=200s",
                           "data.batch_size=12",
                           "data.slices=12",
                           "data.eval_batch_size=12",
                           "train.optimizer.lr=0.03",
                           "train.epochs=100000"};

std::int64_t step_of(const Crew& crew, int node) {
  const auto told = crew.status(node);
  return told.is_object() ? told.at("step").get<std::int64_t>() : 0;
}

/// Waits until `nodes` nodes make steps.
void await_training(const Crew& crew, int node, std::size_t nodes) {
  REQUIRE(becomes_true([&] { return crew.members(node) == nodes; }));
  const auto step = step_of(crew, node);
  REQUIRE(becomes_true([&] { return step_of(crew, node) > step + 20; }));
}

} // namespace

TEST_CASE("if the data link of two nodes breaks, one is left out and returns when it works again",
          "[long]") {
  const Namespaces hosts{3};
  if (!hosts.made() || !std::filesystem::exists("/usr/sbin/nft"))
    SKIP("no network namespaces here: they need root, iproute2 and nftables");
  const Counting experiment;
  Crew crew{experiment, "nodes", hosts, experiment.own + settings, false};
  crew.start_all();
  await_training(crew, 0, 3);
  const int leader = crew.leader(0);
  REQUIRE(leader >= 0);
  const std::array followers = {(leader + 1) % 3, (leader + 2) % 3};
  Cut cut{hosts,
          {{followers[0] + 1, followers[1] + 1}, {followers[1] + 1, followers[0] + 1}},
          data_port};
  REQUIRE(crew[leader].prints("is left out: the data port of"));
  await_training(crew, leader, 2);
  CHECK(crew.leader(leader) == leader);
  for (const int follower : followers)
    CHECK(crew[follower].running());
  cut.heal();
  await_training(crew, leader, 3);

  const auto run = crew.run(leader);
  REQUIRE(crew.leader(leader) == leader);
  CHECK(stop(crew[leader]).code == 0);
  for (const int follower : followers)
    CHECK(crew.end(follower).code == 0);
  const auto steps = run.summary().at("steps").get<std::int64_t>();
  CHECK(run.column<std::int64_t>("step") == all_steps(steps));
  const auto alone = experiment.completed(
      "alone", experiment.own + settings +
                   Settings{"cluster.nodes.min=1", "train.max_steps=" + std::to_string(steps)});
  CHECK(run.digest() == alone.digest());
}
