// Tests that a job continues when nodes are lost and join.
#include "tests/system/daemons.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <array>
#include <csignal>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

/// Two nodes are enough, three are allowed; the 12 samples of a step form six slices.
Settings for_two_or_three(const std::string& strategy) {
  return for_nodes(3, strategy) +
         Settings{"cluster.nodes.min=2", "data.slices=6", "train.epochs=100000"};
}

/// Whether this daemon has reported that this generation begins.
bool is_in_generation(const RunningProgram& node, int number) {
  return has(node.out(), "generation " + std::to_string(number) + " starts at step");
}

/// Checks that steps continue.
void check_goes_on(const RunFiles& run) {
  const auto before = run.steps_done();
  CHECK(becomes_true([&] { return run.steps_done() > before + 10; }));
}

/// Lets a third node join, sends the signal to the second one, and lets it join again.
void check_lost_and_back(const std::string& strategy, int signal) {
  CAPTURE(strategy, signal);
  const Experiment experiment;
  Daemons daemons{experiment, "nodes", for_two_or_three(strategy)};
  auto& leader = daemons.lead();
  auto& second = daemons.join();
  const auto run = experiment.run("nodes");
  REQUIRE(becomes_true([&] { return run.steps_done() > 5 && run.has_checkpoint(); }));
  auto& third = daemons.join(); // while the others train
  REQUIRE(becomes_true([&] { return is_in_generation(third, 2); }));
  check_goes_on(run);

  const auto lost = daemon_address(second);
  second.send(signal);
  REQUIRE(becomes_true([&] { return is_in_generation(leader, 3); }));
  CHECK(has(leader.out(),
            "node " + lost + " (rank 1) was lost: " +
                (signal == SIGKILL ? "its connection was closed" : "it has been silent for 2s")));
  check_goes_on(run);

  // A stopped daemon still holds its port.
  auto& again = daemons.join(signal == SIGKILL ? Settings{"cluster.listen=" + lost} : Settings{});
  REQUIRE(becomes_true([&] { return is_in_generation(again, 4); }));
  check_goes_on(run);
  if (signal ==
      SIGSTOP) { // it finds that the others have continued, and that no assignment is left
    second.send(SIGCONT);
    REQUIRE(leader.prints("node " + lost + " waits as a spare"));
  }
  CHECK(stop(leader).code == 0);
  if (signal == SIGSTOP)
    CHECK(second.wait().code == 0);
  for (auto* follower : {&third, &again})
    CHECK(follower->wait().code == 0);
  CHECK(run.summary().at("status") == "stopped");
  CHECK(run.summary().at("world_size") == 3);
  CHECK(run.column<std::int64_t>("step") == all_steps(run.steps_done()));
  CHECK(run.newest_checkpoint().step == run.steps_done());
  const auto recoveries = run.recoveries();
  REQUIRE(recoveries.size() == 3); // one join, one loss, one return
  CHECK(has(recoveries[1].at("reason").get<std::string>(), lost));
  CHECK(recoveries[1].at("is_loss") == true);
  CHECK(recoveries[1].at("detect_seconds") == (signal == SIGKILL ? 0 : 2));
  CHECK(recoveries[1].at("world_size") == 2);
  for (const auto& recovery : recoveries)
    CHECK(recovery.at("steps_repeated") == 0);
}

} // namespace

TEST_CASE("a job continues without a lost node, and with it after its restart") {
  check_lost_and_back("zero3", SIGKILL);
  check_lost_and_back("ddp", SIGSTOP);
}

TEST_CASE("a job continues without a lost node with other combinations of strategy and signal",
          "[exhaustive]") {
  check_lost_and_back("ddp", SIGKILL);
  check_lost_and_back("zero3", SIGSTOP);
}

// Fewer ranks add in another order. The loss of a linear model is convex, so training does not
// amplify the rounding errors.
TEST_CASE("after the loss of a node the losses match an undisturbed run up to rounding", "[long]") {
  const Experiment experiment{{"model.name=linear", "data.batch_size=48", "data.slices=12",
                               "data.limit=480", "data.eval_batch_size=12", "train.epochs=200",
                               "train.evaluate_every=0", "train.optimizer.lr=0.01"}};
  Daemons daemons{experiment, "nodes",
                  quick_timeouts + Settings{"parallel.strategy=ddp", "cluster.nodes.min=3",
                                            "cluster.nodes.max=4"}};
  auto& leader = daemons.lead();
  std::array others = {&daemons.join(), &daemons.join(), &daemons.join()};
  const auto run = experiment.run("nodes");
  REQUIRE(becomes_true([&] { return !run.recoveries().empty(); }));
  others[1]->kill();
  REQUIRE(leader.prints("nodes: completed"));
  CHECK(stop(leader).code == 0);
  const auto change = run.recoveries().back();
  CHECK(change.at("world_size") == 3);
  CHECK(change.at("step").get<std::int64_t>() + 10 < run.steps_done());
  // The losses that the lost node did not report are missing in one or two lines (docs/cluster.md).
  const auto losses = run.losses(), undisturbed = experiment.completed("alone").losses();
  const auto steps = run.column<std::size_t>("step"), samples = run.column<std::size_t>("samples");
  REQUIRE(losses.size() + 1 >= undisturbed.size());
  std::vector<double> reported, expected;
  for (std::size_t i = 0; i < losses.size(); ++i)
    if (samples[i] == 48) {
      reported.push_back(losses[i]);
      expected.push_back(undisturbed.at(steps[i]));
    }
  CHECK(reported.size() + 2 >= losses.size());
  CHECK(largest_difference(reported, expected) < 1e-4);
}

TEST_CASE("losing a node and its shard replica repeats the steps since the last checkpoint") {
  const Experiment experiment;
  Daemons daemons{experiment, "nodes",
                  for_nodes(3, "zero2") + Settings{"data.slices=6", "train.epochs=100000",
                                                   "checkpoint.every=1000000 steps",
                                                   "cluster.nodes.min=1"}};
  auto& leader = daemons.lead();
  auto& witness = daemons.join({"--witness"}); // without it the leader could not continue by itself
  const auto asked = [&] {
    return RunningProgram{{TROUPE_PROGRAM, "status", daemon_address(witness)}}.wait().out;
  };
  REQUIRE(becomes_true([&] { return has(asked(), "a witness of the job"); }));
  std::array others = {&daemons.join(), &daemons.join()};
  const auto run = experiment.run("nodes");
  REQUIRE(becomes_true([&] {
    const auto changes = run.recoveries();
    return !changes.empty() && changes.back().at("world_size") == 3;
  }));
  check_goes_on(run);
  for (auto* node : others) // so that no other node assembles with the leader before all are killed
    node->send(SIGSTOP);
  for (auto* node : others)
    node->kill();
  const std::string said = "is lost: the job starts over, because there is no checkpoint";
  REQUIRE(leader.prints(said));
  REQUIRE(becomes_true([&] { return run.recoveries().back().at("world_size") == 1; }));
  check_goes_on(run);
  CHECK(stop(leader).code == 0);
  const auto change = run.recoveries().back();
  CHECK(has(change.at("reason").get<std::string>(), said));
  CHECK(change.at("step") == 0);
  CHECK(change.at("steps_repeated") > 0);
  CHECK(run.column<std::int64_t>("step") == all_steps(run.steps_done()));
}

TEST_CASE("a state that is not replicated on other hosts is reported when the job begins") {
  const Experiment experiment;
  const auto [more, why] = GENERATE(
      std::pair{Settings{"parallel.replicate_shards=off"}, "parallel.replicate_shards is off"},
      std::pair{Settings{"devices.count=1"}, ""});
  Daemons daemons{experiment, "nodes", for_nodes(2, "zero1") + more};
  auto& leader = daemons.lead();
  daemons.join();
  REQUIRE(leader.prints("nodes: completed"));
  CHECK(has(leader.out(),
            std::string{why} + ": if a node is lost, the job resumes from the last checkpoint") ==
        (*why != '\0'));
  CHECK(stop(leader).code == 0);
}

TEST_CASE("a second loss while the nodes gather is handled like the first") {
  const Experiment experiment;
  Daemons daemons{experiment, "nodes",
                  for_nodes(4, "ddp") +
                      Settings{"cluster.nodes.min=2", "data.slices=4", "train.epochs=100000"}};
  auto& leader = daemons.lead();
  std::vector<RunningProgram*> others;
  const auto run = experiment.run("nodes");
  for (int i = 0; i < 3; ++i) {
    others.push_back(&daemons.join());
    REQUIRE(becomes_true([&] { return is_in_generation(*others.back(), i + 1); }));
  }
  check_goes_on(run);
  others[0]->kill();
  others[1]->kill();
  REQUIRE(others[2]->prints("node 2 of 2, with 1 of 2 workers"));
  check_goes_on(run);
  CHECK(stop(leader).code == 0);
  CHECK(others[2]->wait().code == 0);
  CHECK(run.column<std::int64_t>("step") == all_steps(run.steps_done()));
}

TEST_CASE("below min_nodes the job waits until the quorum timeout, saves and ends with the reason",
          "[long]") {
  const std::string strategy = GENERATE("ddp", "zero3");
  const Experiment experiment;
  Daemons daemons{experiment, "nodes",
                  for_nodes(2, strategy) +
                      Settings{"train.epochs=100000", "cluster.timeouts.rejoin=3s",
                               "cluster.timeouts.collective=3s", "cluster.timeouts.quorum=8s"}};
  auto& leader = daemons.lead();
  auto& second = daemons.join();
  const auto run = experiment.run("nodes");
  REQUIRE(becomes_true([&] { return run.steps_done() > 5 && run.has_checkpoint(); }));
  second.kill();
  const auto ended = leader.wait();
  CHECK(ended.code == 1);
  CHECK(has(ended.err, "waiting for 1 more node (1 of 2: " + daemons.address() +
                           "); gave up after cluster.timeouts.quorum"));
  CHECK(run.summary().at("status") == "failed");
  CHECK(run.newest_checkpoint().step == run.summary().at("steps"));
  CHECK(run.column<std::int64_t>("step") == all_steps(run.steps_done()));
}
