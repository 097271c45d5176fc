// Tests replica groups that train apart, with an outer optimizer over their pseudo-gradients.
#include "tests/system/counting.hpp"
#include "tests/system/daemons.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::testing;

namespace {

Settings diloco(int steps, const Settings& more = {}) {
  return Settings{"parallel.strategy=diloco", "parallel.diloco.steps=" + std::to_string(steps)} +
         more;
}

/// Makes an outer step a mean.
const Settings plain = {"parallel.diloco.lr=1", "parallel.diloco.momentum=0",
                        "parallel.diloco.momentum.nesterov=false"};

Settings four_workers(const Settings& more) {
  return Settings{"devices.count=4", "devices.threads_per_worker=1"} + more;
}

Experiment perceptron(const Settings& more = {}) {
  return Experiment{Settings{"model.name=mlp", "data.batch_size=16", "data.limit=320",
                             "train.epochs=3", "train.evaluate_every=1", "checkpoint.every=never",
                             "train.optimizer.lr=0.05"} +
                    more};
}

/// Runs tools/check-rounds for four replica groups.
Ended checked_rounds(const RunFiles& run, int steps, int quorum) {
  return RunningProgram{{(source_tree() / "tools/check-rounds").string(),
                         (run / "events.jsonl").string(), "--replica-groups", "4", "--steps",
                         std::to_string(steps), "--quorum", std::to_string(quorum), "--overlap",
                         "3"}}
      .wait();
}

/// Inner optimizers with momentum, overlapping rounds, and compression everywhere.
const Settings everything = {"parallel.diloco.fragments=2", "parallel.diloco.overlap=2",
                             "parallel.diloco.compress=int8"};

} // namespace

TEST_CASE("plain DiLoCo rounds equal ddp, bit for bit with exact values", "[long]") {
  const ExactCounting experiment;
  const auto& base = experiment.own;
  const auto ddp = experiment.completed("ddp", base + four_workers({"parallel.strategy=ddp"}));
  for (const int steps : {1, 7}) {
    CAPTURE(steps);
    const auto run = experiment.completed("rounds of " + std::to_string(steps),
                                          base + plain + four_workers(diloco(steps)));
    CHECK(run.digest() == ddp.digest());
    CHECK(run.column<std::int64_t>("step") == all_steps(2400));
    // All parameters once per round, from each of four workers, and back.
    std::uint64_t sent = 0;
    for (const auto bytes : run.column<std::uint64_t>("collective_bytes"))
      sent += bytes;
    CHECK(sent == 2400 / steps * 4 * 2 * 3 * (Counting::samples * sizeof(float)) / 4);
  }
}

TEST_CASE("each pseudo-gradient counts once, also from replica groups that a round skips",
          "[long]") {
  const ExactCounting experiment;
  const auto& base = experiment.own;
  const auto ddp = experiment.completed("ddp", base + four_workers({"parallel.strategy=ddp"}));
  const auto hasty = four_workers(diloco(
      4, {"parallel.diloco.quorum=1", "parallel.diloco.quorum.grace=0ms", "metrics.reads=true"}));
  for (const char* overlap : {"parallel.diloco.overlap=0", "parallel.diloco.overlap=3"}) {
    CAPTURE(overlap);
    const auto run = experiment.completed(overlap, base + plain + hasty + Settings{overlap});
    CHECK(run.digest() == ddp.digest());
    const auto said = checked_rounds(run, 4, 1);
    CAPTURE(said.out, said.err);
    CHECK(said.code == 0);
    CHECK(has(said.out, "% came 1 rounds late"));
    CHECK(checked_rounds(run, 4, 4).code == 1); // a requirement that the run does not meet
    CHECK(checked_rounds(run, 5, 1).code == 1);
  }
}

TEST_CASE("with rounds of one step and plain SGD, diloco matches ddp up to rounding") {
  const auto experiment =
      perceptron({"train.optimizer.momentum=0", "train.optimizer.momentum.nesterov=false"});
  const auto ddp = experiment.completed("ddp", four_workers({"parallel.strategy=ddp"}));
  const auto rounds = experiment.completed("rounds", plain + four_workers(diloco(1)));
  CHECK(largest_difference(rounds.losses(), ddp.losses()) < 1e-4);
}

TEST_CASE("ranks of a replica group may use any inner strategy") {
  const auto experiment = perceptron({"parallel.diloco.fragments=2", "parallel.diloco.overlap=2"});
  const auto run = [&](const std::string& inner) {
    const auto settings =
        diloco(5, {"parallel.diloco.group_size=2", "parallel.diloco.inner=" + inner});
    return experiment.completed(inner, four_workers(settings)).losses();
  };
  const auto ddp = run("ddp");
  CHECK(ddp.back() < ddp.front());
  for (const char* inner : {"zero1", "zero2", "zero3"}) {
    CAPTURE(inner);
    CHECK(largest_difference(run(inner), ddp) < 1e-3);
  }
}

TEST_CASE("a replica group may span two hosts", "[long]") {
  const ExactCounting experiment;
  const auto alone = experiment.completed("alone", experiment.own).digest();
  const std::string inner = GENERATE("ddp", "zero3");
  CAPTURE(inner);
  const Settings groups = {"parallel.diloco.group_size=2", "parallel.diloco.inner=" + inner,
                           "cluster.nodes=4"};
  Daemons daemons{experiment, "nodes", quick_timeouts + experiment.own + plain + diloco(8, groups)};
  auto& leader = daemons.lead();
  for (int node = 1; node < 4; ++node)
    daemons.join();
  REQUIRE(leader.prints("nodes: completed"));
  CHECK(stop(leader).code == 0);
  CHECK(experiment.run("nodes").digest() == alone);
}

TEST_CASE("a run stopped between two rounds resumes with the same bits", "[long]") {
  const auto experiment =
      perceptron({"checkpoint.every=10 steps", "train.optimizer.name=adamw",
                  "train.optimizer.lr=0.001", "train.optimizer.momentum.nesterov=false",
                  "train.schedule.name=constant", "train.schedule.warmup=0"});
  const auto more =
      GENERATE(Settings{}, everything,
               Settings{"parallel.diloco.group_size=2", "parallel.diloco.inner=zero3"},
               Settings{"parallel.diloco.group_size=2", "parallel.diloco.inner=zero1",
                        "checkpoint.state=sharded"},
               Settings{"parallel.diloco.compress=int4", "precision.mode=bf16"});
  CAPTURE(more);
  const auto settings = four_workers(diloco(7, more));
  const auto whole = experiment.completed("whole", settings);
  CHECK(experiment.completed("half", settings + Settings{"train.max_steps=30"}).steps_done() == 30);
  const auto resumed = experiment.completed("half", settings);
  CHECK(resumed.digest() == whole.digest());
}

TEST_CASE("a frozen fragment sends nothing") {
  const Experiment experiment;
  const auto settings = diloco(2, {"devices.count=2", "train.freeze=[stem]"});
  const auto sent = [&](const std::string& fragments) {
    const auto run = experiment.completed(
        "fragments " + fragments, settings + Settings{"parallel.diloco.fragments=" + fragments});
    std::uint64_t bytes = 0;
    for (const auto& event : run.events())
      bytes += event.value("round_bytes", std::uint64_t{0});
    return bytes;
  };
  CHECK(sent("11") < sent("1")); // one fragment per unit, and all units in one bucket
}

TEST_CASE("a run may change from another strategy to diloco and back") {
  const auto experiment = perceptron(
      {"checkpoint.every=1 epoch", "train.schedule.name=constant", "train.schedule.warmup=0"});
  const auto go_on = [&](const Settings& settings, int epochs) {
    return experiment.completed("run", four_workers(settings) +
                                           Settings{"train.epochs=" + std::to_string(epochs)});
  };
  go_on({"parallel.strategy=ddp"}, 1);
  go_on(diloco(4, everything), 2);
  const auto run = go_on({"parallel.strategy=zero3"}, 3);
  CHECK(run.column<std::int64_t>("step") == all_steps(60));
  CHECK(run.losses().back() < run.losses().front());
}

TEST_CASE("each sample is applied once per epoch when any node is lost between two rounds",
          "[exhaustive]") {
  const auto rounds = GENERATE(diloco(1), diloco(8),
                               diloco(8, {"parallel.diloco.overlap=3", "parallel.diloco.quorum=1",
                                          "parallel.diloco.quorum.grace=0ms"}));
  CAPTURE(rounds);
  check_counts_with_losses(ExactCounting{}, plain + rounds);
}

TEST_CASE("settings that diloco does not support are refused with the reason") {
  const auto experiment = perceptron();
  const auto refused = [&](const Settings& settings, const std::string& reason) {
    CAPTURE(settings);
    const auto ended = experiment.train("refused", four_workers(diloco(4, settings)));
    CHECK(ended.code == 2);
    CHECK(has(ended.err, reason));
  };
  refused({"parallel.diloco.steps=0"}, "diloco.steps");
  refused({"model.sync_batch_norm=true"},
          "replica groups do not sum each other's batch statistics");
  refused({"parallel.mixed_precision.buffers=bf16"}, "averaged in fp32");
  refused({"parallel.offload=optimizer"}, "on their devices");
  refused({"parallel.diloco.compress=int4", "parallel.diloco.compress.error_feedback=false"},
          "int4");
  refused({"parallel.diloco.fragments=100"}, "fragments, but the model has");
  refused({"parallel.diloco.overlap=4"}, "at most 3");
  refused({"parallel.diloco.group_size=3"}, "replica groups of 3");
  refused({"parallel.diloco.quorum=5"}, "at most 4");
  refused({"parallel.diloco.momentum=0"}, "nesterov has no effect");
}
