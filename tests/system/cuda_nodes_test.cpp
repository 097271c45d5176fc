// Tests one job on several daemons of one machine, each with separate GPUs, which NCCL connects.
#include "tests/system/daemons.hpp"
#include "tests/system/gpus.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <csignal>

using namespace troupe;
using namespace troupe::testing;

namespace {

Settings on_gpus(const std::string& strategy) {
  return for_nodes(2, strategy) +
         Settings{"devices.kind=cuda", "run.deterministic=true", "train.optimizer.lr=0.01"};
}

/// Runs the job to its end on two daemons that see these GPUs.
RunFiles trained(const Experiment& experiment, const Settings& settings,
                 const std::vector<int>& first, const std::vector<int>& second) {
  Daemons daemons{experiment, "nodes", settings};
  auto& leader = daemons.lead({}, seeing(first));
  const auto followed = daemons.join({}, seeing(second)).wait();
  const auto led = stop(leader);
  INFO("follower: " << followed.out << followed.err << "\nleader: " << led.out << led.err);
  CHECK(followed.code == 0);
  CHECK(led.code == 0);
  auto run = experiment.run("nodes");
  REQUIRE(run.summary().at("status") == "completed");
  return run;
}

/// Runs the job in one process.
RunFiles trained_alone(const Experiment& experiment, const Settings& settings,
                       const std::vector<int>& gpus) {
  const auto ended =
      RunningProgram{
          seeing(gpus) +
          experiment.command("train", "alone",
                             settings + Settings{"cluster.nodes=1",
                                                 "devices.count=" + std::to_string(gpus.size())})}
          .wait();
  INFO(ended.out << ended.err);
  REQUIRE(ended.code == 0);
  return experiment.run("alone");
}

/// How a node is lost, and how the others notice it. Over sockets, NCCL reports to ranks that
/// another rank has gone; over memory that GPUs share, their calls wait forever.
struct Loss {
  int signal;
  const char* losses; ///< setting of emulated GPUs
  const char* said;
};

const Loss seen{SIGKILL, "seen", "was lost: its connection was closed"};
const Loss unseen{SIGKILL, "unseen", "was lost: its connection was closed"};
const Loss frozen{SIGSTOP, "seen", "was lost: it has been silent for 2s"};

std::vector<std::string> node_on(int gpu, const Loss& loss) {
  return seeing({gpu}) +
         std::vector<std::string>{std::string{"TROUPE_EMULATED_LOSSES="} + loss.losses};
}

} // namespace

// The sum of two numbers is the same in either order, so the bits are equal.
TEST_CASE("two daemons with one GPU each match two workers of one process, bit for bit") {
  need_machine(2);
  const std::string strategy = GENERATE("ddp", "zero3", "zero2", "dp");
  CAPTURE(strategy);
  const Experiment experiment;
  const auto settings = on_gpus(strategy) + Settings{"train.max_steps=6"};
  const auto run = trained(experiment, settings, {0}, {1});
  CHECK(run.summary().at("world_size") == 2);
  check_same(run, trained_alone(experiment, settings, {0, 1}));
}

TEST_CASE("two daemons with two GPUs each match four workers of one process, bit for bit") {
  need_machine(4);
  const Experiment experiment;
  const auto settings = on_gpus("hsdp") + Settings{"parallel.shard_group=2", "devices.count=2",
                                                   "data.eval_batch_size=12", "train.max_steps=4"};
  const auto run = trained(experiment, settings, {0, 1}, {2, 3});
  CHECK(run.summary().at("world_size") == 4);
  check_same(run, trained_alone(experiment, settings, {0, 1, 2, 3}));
}

TEST_CASE("a lost node with GPUs is detected, and the job continues with a replacement") {
  need_machine(2);
  const std::string strategy = GENERATE("ddp", "zero3");
  const auto loss = GENERATE(seen, unseen, frozen);
  CAPTURE(strategy, loss.losses, loss.said);
  const Experiment experiment;
  const auto run = experiment.run("nodes");
  Daemons daemons{experiment, "nodes", on_gpus(strategy) + Settings{"train.epochs=100000"}};
  auto& leader = daemons.lead({}, node_on(0, loss));
  auto& second = daemons.join({}, node_on(1, loss));
  const auto dying = daemon_address(second);
  REQUIRE(becomes_true(
      [&] { return (run.steps_done() > 5 && run.has_checkpoint()) || !leader.running(); }));
  second.send(loss.signal);
  CHECK(leader.prints("node " + dying + " (rank 1) " + loss.said));

  auto& third = daemons.join({}, node_on(1, loss));
  REQUIRE(third.prints("generation 2 starts at step"));
  const auto before = run.steps_done();
  CHECK(becomes_true([&] { return run.steps_done() > before + 5 || !leader.running(); }));
  const auto ended = stop(leader);
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 0);
  CHECK(third.wait().code == 0);
  CHECK(run.column<std::int64_t>("step") == all_steps(run.steps_done()));
  CHECK(run.recoveries().at(0).at("is_loss") == true);
  if (strategy == "ddp")
    CHECK(run.recoveries().at(0).at("steps_repeated") == 0);
}

TEST_CASE("a node with GPUs whose leader dies releases them, reports it and waits") {
  need_machine(2);
  const auto loss = GENERATE(seen, unseen);
  CAPTURE(loss.losses);
  const Experiment experiment;
  Daemons daemons{experiment, "nodes", on_gpus("ddp") + Settings{"train.epochs=100000"}};
  auto& leader = daemons.lead({}, node_on(0, loss));
  auto& second = daemons.join({}, node_on(1, loss));
  REQUIRE(
      becomes_true([&] { return experiment.run("nodes").steps_done() > 5 || !leader.running(); }));
  leader.kill();
  REQUIRE(second.prints("which led the job, was lost: its connection was closed"));
  const auto ended = stop(second);
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 0);
}

TEST_CASE("the second node with the same GPU ends with both names, and the job waits for another") {
  need_machine(1);
  const Experiment experiment;
  Daemons daemons{experiment, "nodes", on_gpus("ddp")};
  auto& leader = daemons.lead({}, seeing({0}));
  auto& second = daemons.join({}, seeing({0}));
  const auto follower = daemon_address(second);
  const auto said =
      "ranks 0 (node " + daemons.address() + ") and 1 (node " + follower + ") share the GPU GPU-";
  const auto ended = second.wait();
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 2);
  CHECK(has(ended.err, said));
  CHECK(has(ended.err, "CUDA_VISIBLE_DEVICES"));
  CHECK(leader.prints(said));
  CHECK(stop(leader).code == 0);
}

TEST_CASE("nodes with GPUs refuse to synchronize batch norm before they begin") {
  need_machine(1);
  const std::string kind = GENERATE("cuda", "auto");
  CAPTURE(kind);
  const Experiment experiment;
  const auto settings =
      for_nodes(2, "ddp") + Settings{"devices.kind=" + kind, "model.sync_batch_norm=true"};
  for (const auto& join : {Settings{}, Settings{"--join=127.0.0.1:1"}}) {
    const auto ended =
        RunningProgram{seeing({0}) + experiment.command("node", "nodes", settings + join)}.wait();
    CAPTURE(ended.out, ended.err);
    CHECK(ended.code == 2);
    CHECK(has(ended.err, "model.sync_batch_norm: CUDA workers of several nodes cannot synchronize "
                         "batch norm yet; allowed: false; devices.kind: cpu; one node"));
  }
}
