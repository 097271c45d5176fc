// Tests workers that do not wait for each other: parameter server shards apply gradients as they
// arrive.
#include "tests/system/counting.hpp"
#include "tests/system/daemons.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <fstream>

using namespace troupe;
using namespace troupe::testing;

namespace {

Settings asynchronous(int workers, int staleness, const Settings& more = {}) {
  return Settings{"parallel.strategy=async", "devices.count=" + std::to_string(workers),
                  "parallel.async.staleness=" + std::to_string(staleness),
                  "devices.threads_per_worker=1", "parallel.bucket_size=100KiB"} +
         more;
}

const Settings four_slices = {"data.batch_size=16", "data.slices=4", "data.eval_batch_size=16"};

/// The learning rate is so low that it hardly matters which steps a stale gradient has missed.
const Settings one_batch = {"data.limit=16", "data.augment=[]", "train.epochs=20",
                            "train.evaluate_every=0", "train.optimizer.lr=0.005"};

/// Runs tools/check-reads.
Ended checked(const RunFiles& run, int slices, int staleness, const Settings& more = {}) {
  std::vector<std::string> command = {(source_tree() / "tools/check-reads").string(),
                                      (run / "events.jsonl").string(),
                                      "--slices",
                                      std::to_string(slices),
                                      "--staleness",
                                      std::to_string(staleness)};
  command.insert(command.end(), more.begin(), more.end());
  return RunningProgram{command}.wait();
}

} // namespace

TEST_CASE("async without staleness matches ddp in one process, bit for bit", "[long]") {
  const Settings more =
      GENERATE(Settings{},
               Settings{"precision.mode=amp_bf16", "train.optimizer.name=adamw",
                        "train.optimizer.lr=0.001", "train.optimizer.momentum.nesterov=false"},
               Settings{"precision.mode=amp_fp16", "precision.loss_scale.growth_interval=5",
                        "train.clip_grad=0.5"},
               Settings{"precision.mode=bf16", "train.clip_grad.value=0.01"},
               Settings{"train.clip_grad=0.5", "train.optimizer.name=adam",
                        "train.optimizer.lr=0.001", "train.optimizer.momentum.nesterov=false"},
               Settings{"train.freeze=[stem]", "train.gradient_norm_every=1"});
  CAPTURE(more);
  const Experiment experiment(four_slices + more);
  const auto ddp = experiment.completed(
      "ddp", {"parallel.strategy=ddp", "devices.count=4", "devices.threads_per_worker=1"});
  for (const int workers : {2, 4}) {
    CAPTURE(workers);
    const auto run =
        experiment.completed("async of " + std::to_string(workers), asynchronous(workers, 0));
    CHECK(run.digest() == ddp.digest());
    // Slices are added in slice order, losses in worker order.
    CHECK(largest_difference(run.losses(), ddp.losses()) < 1e-6);
    CHECK(run.column<double>("staleness") == std::vector<double>(20, 0));
    const auto a = run.newest_checkpoint(), b = ddp.newest_checkpoint();
    REQUIRE(a.tensors.size() == b.tensors.size());
    for (std::size_t i = 0; i < a.tensors.size(); ++i)
      CHECK(std::ranges::equal(a.tensors[i].values, b.tensors[i].values));
  }
}

TEST_CASE("no gradient exceeds the staleness, and each slice counts once in each shard", "[long]") {
  const int staleness = GENERATE(0, 1, 3, 7);
  const std::string way = staleness == 0 ? "policy=whole"
                                         : GENERATE("policy=whole", "policy=divided",
                                                    "policy=compensated", "prediction=true");
  CAPTURE(staleness, way);
  const Experiment experiment(four_slices + one_batch +
                              Settings{"metrics.reads=true", "parallel.async." + way});
  const auto run = experiment.completed("run", asynchronous(3, staleness));
  const auto found = checked(run, 4, staleness, {"--shards", "3"});
  CAPTURE(found.out, found.err);
  CHECK(found.code == 0);
  CHECK(run.steps_done() == 20);
  CHECK(run.losses().back() < 2); // from 2.4 to about 1.5, in spite of stale gradients
}

TEST_CASE("the check of recorded reads detects wrong reads") {
  const Experiment experiment(four_slices + Settings{"metrics.reads=true", "train.max_steps=12"});
  const auto run = experiment.completed("run", asynchronous(2, 1));
  const auto wrong = [&](const std::function<void(nlohmann::json&)>& change) {
    auto events = run.events();
    change(events[7]);
    std::ofstream out{experiment / "events.jsonl"};
    for (const auto& event : events)
      out << event << '\n';
    out.close();
    return checked(RunFiles{experiment / ""}, 4, 1).code;
  };
  CHECK(wrong([](auto&) {}) == 0);
  CHECK(wrong([](auto& event) { event["reads"][1][2][1] = 5; }) == 1);
  CHECK(wrong([](auto& event) { event["reads"][1][2][1] = 8; }) == 1);
  CHECK(wrong([](auto& event) { event["reads"][0][3][0] = 0; }) == 1);
  CHECK(wrong([](auto& event) { event["reads"][0].erase(0); }) == 1);
  CHECK(wrong([](auto& event) { event["reads"][0][1][2] = 2; }) == 1);
  CHECK(wrong([](auto& event) { event["reads"].erase(0); }) == 1);
  CHECK(wrong([](auto& event) { event["step"] = 9; }) == 1);
}

TEST_CASE("an async run resumes where it was stopped") {
  const Experiment experiment(four_slices + Settings{"checkpoint.every=5 steps",
                                                     "train.schedule.name=constant",
                                                     "train.schedule.warmup=0"});
  const auto whole = experiment.completed("whole", asynchronous(4, 0));
  experiment.completed("half", asynchronous(4, 0, {"train.max_steps=13"}));
  CHECK(experiment.completed("half", asynchronous(2, 0)).digest() == whole.digest());
  experiment.completed("stale", asynchronous(3, 3, {"train.max_steps=13"}));
  const auto stale = experiment.completed("stale", asynchronous(2, 3));
  CHECK(stale.column<std::int64_t>("step") == all_steps(20));
}

TEST_CASE("async applies each sample once per epoch when any node is lost", "[long]") {
  const Counting experiment;
  const auto alone = experiment.completed("alone", experiment.own).digest();
  const auto& [staleness, shard_replicas] =
      GENERATE(table<int, std::string>({{0, "auto"}, {3, "off"}}));
  CAPTURE(staleness, shard_replicas);
  Daemons daemons{experiment, "nodes",
                  quick_timeouts + experiment.own +
                      Settings{"parallel.strategy=async",
                               "parallel.replicate_shards=" + shard_replicas,
                               "parallel.async.staleness=" + std::to_string(staleness),
                               "cluster.nodes.min=1", "cluster.nodes.max=3", soon_stable}};
  auto& leader = daemons.lead();
  daemons.join();
  const auto run = experiment.run("nodes");
  CHECK(lose_nodes(daemons, leader, run, {.most = 6, .steps = 151, .one_leaves_after = 2}) > 2);
  REQUIRE(leader.prints("nodes: completed"));
  CHECK(stop(leader).code == 0);
  CHECK(run.column<std::int64_t>("step") == all_steps(3200));
  CHECK(run.digest() == alone);
}

TEST_CASE("settings that async does not support are refused with the reason") {
  const Experiment experiment(four_slices);
  const auto refused = [&](const Settings& settings, const std::string& reason) {
    CAPTURE(settings);
    const auto ended = experiment.train("refused", asynchronous(2, 3) + settings);
    CHECK(ended.code == 2);
    CHECK(has(ended.err, reason));
  };
  refused({"train.clip_grad=1"}, "have no common norm");
  refused({"model.sync_batch_norm=true"}, "cannot sum batch statistics");
  refused({"data.balance=speed"}, "assigned to the next free worker");
  refused({"parallel.mixed_precision.reduce=bf16"}, "are sent in fp32");
  refused({"parallel.offload=optimizer"}, "on their owners' devices");
  refused({"parallel.async.staleness=0", "parallel.async.policy=divided"}, "no gradient is stale");
  refused({"parallel.async.staleness=0", "parallel.async.prediction=true"},
          "no parameters are stale");
  refused({"parallel.async.policy=compensated", "parallel.async.prediction=true"},
          "would be corrected twice");
  refused({"parallel.async.staleness=-1"}, "staleness");
  refused({"parallel.async.policy=halved"}, "whole, divided, compensated");
}
