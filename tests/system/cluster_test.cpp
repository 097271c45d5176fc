// Tests one job on several daemons of one machine.
#include "core/net/socket.hpp"
#include "tests/support/certificates.hpp"
#include "tests/system/daemons.hpp"
#include "tests/system/experiment.hpp"
#include "tests/system/timeline.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <csignal>
#include <map>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Runs the job to its end, on a leader and the other nodes.
RunFiles trained(const Experiment& experiment, const std::string& run, int nodes,
                 const Settings& settings) {
  Daemons daemons{experiment, run, settings};
  auto& leader = daemons.lead();
  std::vector<RunningProgram*> others;
  for (int node = 1; node < nodes; ++node)
    others.push_back(&daemons.join());
  for (auto* follower : others) {
    const auto ended = follower->wait();
    INFO(ended.out << ended.err);
    CHECK(ended.code == 0);
  }
  const auto ended = stop(leader);
  INFO(ended.out << ended.err);
  CHECK(ended.code == 0);
  return experiment.run(run);
}

/// Runs the job in one process.
RunFiles completed_alone(const Experiment& experiment, const Settings& settings) {
  return experiment.completed(
      "alone",
      Settings{"data.batch_size=12", "data.limit=96", "data.eval_batch_size=12"} + settings);
}

} // namespace

// The sum of two numbers is the same in either order, so the network changes no bit.
TEST_CASE("a job on two daemons has the same bits as in one process", "[long]") {
  const std::string strategy = GENERATE("ddp", "zero1", "zero3");
  const Settings more = GENERATE(Settings{}, Settings{"model.sync_batch_norm=true"});
  CAPTURE(strategy, more);
  const Experiment experiment{more};
  const auto run = trained(experiment, "nodes", 2, for_nodes(2, strategy));
  CHECK(run.summary().at("status") == "completed");
  CHECK(run.summary().at("world_size") == 2);
  check_same(run, completed_alone(experiment, workers(strategy, 2)));
}

// On two nodes as in one process, hsdp adds two pairs and then their sums.
TEST_CASE("nodes may have several workers that form one shard group") {
  const Experiment experiment{{"parallel.shard_group=2"}};
  const auto run =
      trained(experiment, "nodes", 2, for_nodes(2, "hsdp") + Settings{"devices.count=2"});
  CHECK(run.summary().at("world_size") == 4);
  CHECK(run.summary().at("workers").size() == 4);
  check_same(run, completed_alone(experiment, workers("hsdp", 4)));
}

// A ring adds three numbers in a different order than shared memory does. The loss of a linear
// model is convex, so training does not amplify the rounding errors: the losses of 40 steps differ
// by 3e-7.
TEST_CASE("three daemons have the same result as three workers in one process", "[long]") {
  const std::string strategy = GENERATE("ddp", "zero1", "zero3");
  CAPTURE(strategy);
  const Experiment experiment{{"model.name=linear"}};
  const auto run = trained(experiment, "nodes", 3, for_nodes(3, strategy));
  CHECK(run.summary().at("status") == "completed");
  CHECK(run.summary().at("world_size") == 3);
  CHECK(trained(experiment, "again", 3, for_nodes(3, strategy)).digest() == run.digest());
  const auto alone = completed_alone(experiment, workers(strategy, 3));
  CHECK(largest_difference(run.losses(), alone.losses()) < 1e-5);
}

TEST_CASE("each daemon writes the timeline of its own workers") {
  const Experiment experiment;
  const auto settings = for_nodes(2, "zero3") + Settings{"train.max_steps=4"};
  const auto first = experiment / "first.json", second = experiment / "second.json";
  Daemons daemons{experiment, "nodes", settings};
  auto& leader = daemons.lead({"--trace=" + first.string()});
  REQUIRE(daemons.join({"--trace=" + second.string()}).wait().code == 0);
  REQUIRE(stop(leader).code == 0);
  const Timeline led{first}, followed{second};
  CHECK(led.rows().contains("node/coordinator"));
  CHECK_FALSE(followed.rows().contains("node/coordinator"));
  for (const std::string row : {"/worker", "/compute", "/communication"}) {
    CHECK(led.rows().contains("rank 0" + row));
    CHECK(followed.rows().contains("rank 1" + row));
    CHECK_FALSE(led.rows().contains("rank 1" + row));
    CHECK_FALSE(followed.rows().contains("rank 0" + row));
  }
  std::map<std::string, int> sent;
  for (const auto& span : followed.spans("rank 1/communication", "collective"))
    ++sent[span["name"]];
  CHECK(sent["all_gather"] >= 8); // each of four steps gathers for forward and again for backward
  CHECK(sent["reduce_scatter"] >= 4);
}

TEST_CASE("nodes without a checkpoint get the leader's and reach the same result") {
  const Experiment experiment;
  const auto settings = for_nodes(3, "zero2");
  const auto whole = trained(experiment, "whole", 3, settings);
  trained(experiment, "parts", 3, settings + Settings{"train.max_steps=17"});
  const auto parts = trained(experiment, "parts", 3,
                             settings + Settings{"run.output=" + experiment.output().string()});
  CHECK(parts.summary().at("status") == "completed");
  CHECK(parts.steps_done() == whole.steps_done());
}

TEST_CASE("the follower of two nodes cannot continue without the leader and reports it") {
  const Experiment experiment;
  Daemons daemons{experiment, "nodes",
                  for_nodes(2, "ddp") +
                      Settings{"train.epochs=100000", "cluster.timeouts.detection=500ms",
                               "cluster.timeouts.rejoin=1s", "cluster.timeouts.collective=2s",
                               "cluster.timeouts.quorum=3s"}};
  auto& leader = daemons.lead();
  auto& second = daemons.join();
  REQUIRE(becomes_true([&] { return experiment.run("nodes").steps_done() > 5; }));
  leader.kill();
  const auto ended = second.wait(60s);
  CHECK(ended.code == 1);
  CHECK_THAT(ended.err,
             ContainsSubstring("which led the job, was lost: its connection was closed; no other "
                               "node took over the job within cluster.timeouts.quorum"));
}

TEST_CASE("all nodes know that a job was stopped before its leader exits") {
  const Experiment experiment;
  Daemons daemons{experiment, "nodes",
                  for_nodes(4, "ddp") + Settings{"data.batch_size=16", "train.epochs=100000"}};
  auto& leader = daemons.lead();
  std::vector<RunningProgram*> others = {&daemons.join(), &daemons.join(), &daemons.join()};
  REQUIRE(becomes_true([&] { return experiment.run("nodes").steps_done() > 2; }));
  CHECK(stop(leader).code == 0);
  for (auto* other : others) {
    const auto ended = other->wait();
    INFO(ended.out << ended.err);
    CHECK(ended.code == 0);
    CHECK_THAT(ended.out, ContainsSubstring("stopped"));
    CHECK_THAT(ended.out + ended.err, !ContainsSubstring("failed"));
  }
}

TEST_CASE("over TLS, a client that disconnects does not close other connections") {
  const Certificates certificates;
  const auto tls = certificates.of("node");
  const Experiment experiment;
  Daemons daemons{experiment, "nodes",
                  for_nodes(2, "ddp") + Settings{"train.epochs=100000"} + settings_of(tls)};
  auto& leader = daemons.lead();
  auto& second = daemons.join();
  const auto asked = daemon_address(second);
  const auto run = experiment.run("nodes");
  REQUIRE(becomes_true([&] { return run.steps_done() > 5; }));
  for (int i = 0; i < 3; ++i)
    CHECK(RunningProgram{Settings{TROUPE_PROGRAM, "status", asked} + options_of(tls)}.wait().code ==
          0);
  const auto before = run.steps_done();
  CHECK(becomes_true([&] { return run.steps_done() > before + 20; }, 30s));
  CHECK(terminate(leader).code == 0);
  CHECK(run.summary().at("status") == "stopped");
}

TEST_CASE("a node with another job's config is refused, and the difference is named") {
  const Experiment experiment;
  Daemons daemons{experiment, "nodes", for_nodes(2, "ddp")};
  auto& leader = daemons.lead();
  const auto refused = daemons.join({"train.optimizer.lr=0.01"}).wait();
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("train.optimizer.lr: 0.01 here, 0.05 at the leader"));
  CHECK(leader.running());
  CHECK(daemons.join().wait().code == 0);
  CHECK(stop(leader).code == 0);
}

TEST_CASE("a node that joins a running job with another config is told what differs") {
  const Experiment experiment;
  Daemons daemons{experiment, "nodes", for_nodes(2, "ddp") + Settings{"train.epochs=100000"}};
  auto& leader = daemons.lead();
  auto& second = daemons.join();
  REQUIRE(becomes_true([&] { return experiment.run("nodes").steps_done() > 2; }));
  const auto refused = daemons.join({"train.optimizer.lr=0.01"}).wait();
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("train.optimizer.lr: 0.01 here, 0.05 at the leader"));
  CHECK(stop(leader).code == 0);
  CHECK(second.wait().code == 0);
}

TEST_CASE("a node without its data ends with the reason before it joins") {
  const Experiment experiment;
  const auto ended =
      experiment
          .start_node("nodes", for_nodes(2, "ddp") +
                                   Settings{"data.dataset=cifar10",
                                            "data.root=" + (experiment / "nowhere").string()})
          .wait();
  CHECK(ended.code == 2);
  CHECK_THAT(ended.err, ContainsSubstring("nowhere"));
}

TEST_CASE("a leader that waits for nodes names them and stops on request") {
  const Experiment experiment;
  Daemons daemons{experiment, "nodes", for_nodes(3, "ddp")};
  auto& leader = daemons.lead();
  const auto waiting = "waiting for 2 more nodes (1 of 3: " + daemons.address() + ")";
  CHECK(leader.prints(waiting));
  const auto asked = RunningProgram{{TROUPE_PROGRAM, "status", daemons.address()}}.wait();
  CHECK(asked.out.starts_with("nodes: " + waiting + " ("));
  CHECK(asked.out.ends_with(" of 200s)\n"));
  CHECK(stop(leader).code == 0);
  CHECK_FALSE(experiment.run("nodes").has("events.jsonl"));
}

TEST_CASE("a node that finds no job to join reports it and stops on request") {
  const Experiment experiment;
  // A port that no node chooses for itself.
  const std::string nobody = "127.0.0.1:1";
  auto node = experiment.start_node("nodes", for_nodes(2, "ddp") + Settings{"--join=" + nobody});
  CHECK(node.prints("cannot connect to " + nobody));
  CHECK(node.running());
  node.send(SIGTERM);
  CHECK(node.wait(20s).code == 0);
}

TEST_CASE("a daemon cannot join itself") {
  const Experiment experiment;
  const auto own = "127.0.0.1:" + std::to_string(net::listen_on({"127.0.0.1", 0}).value().port);
  const auto ended =
      experiment
          .start_node("nodes",
                      for_nodes(2, "ddp") + Settings{"--join=" + own, "cluster.listen=" + own})
          .wait();
  CHECK(ended.code == 2);
  CHECK_THAT(ended.err, ContainsSubstring("cannot join itself"));
}

TEST_CASE("train runs only on one host") {
  const Experiment experiment;
  const auto ended = experiment.train("nodes", for_nodes(2, "ddp"));
  CHECK(ended.code == 2);
  CHECK_THAT(ended.err, ContainsSubstring("troupe node"));
}
