// Tests workers that train separately for a round of steps and are then averaged.
#include "tests/system/counting.hpp"
#include "tests/system/daemons.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

Settings rounds_of(int steps, const Settings& more = {}) {
  return Settings{"parallel.strategy=local_sgd",
                  "parallel.local_sgd.steps=" + std::to_string(steps)} +
         more;
}

Settings four_workers(const Settings& more) {
  return Settings{"devices.count=4", "devices.threads_per_worker=1"} + more;
}

Experiment perceptron(const Settings& more = {}) {
  return Experiment{Settings{"model.name=mlp", "data.batch_size=16", "data.limit=320",
                             "train.epochs=3", "train.evaluate_every=1", "checkpoint.every=never",
                             "train.optimizer.lr=0.05"} +
                    more};
}

} // namespace

TEST_CASE("rounds of any length give ddp's result, bit for bit with exact values", "[long]") {
  const ExactCounting experiment;
  const auto& base = experiment.own;
  const auto ddp = experiment.completed("ddp", base + four_workers({"parallel.strategy=ddp"}));
  for (const int steps : {1, 7}) {
    CAPTURE(steps);
    const auto run = experiment.completed("rounds of " + std::to_string(steps),
                                          base + four_workers(rounds_of(steps)));
    CHECK(run.digest() == ddp.digest());
    CHECK(run.column<std::int64_t>("step") == all_steps(2400));
    // All parameters once per round, from each of four workers; nothing within a round.
    const auto bytes = run.column<std::uint64_t>("collective_bytes");
    for (std::size_t step = 0; step < bytes.size(); ++step)
      CHECK(bytes[step] == ((step + 1) % static_cast<std::size_t>(steps) == 0
                                ? 4 * 2 * 3 * (Counting::samples * sizeof(float)) / 4
                                : 0));
  }
}

TEST_CASE("with rounds of one step and plain SGD, local_sgd matches ddp up to rounding") {
  const auto experiment =
      perceptron({"train.optimizer.momentum=0", "train.optimizer.momentum.nesterov=false"});
  const auto ddp = experiment.completed("ddp", four_workers({"parallel.strategy=ddp"}));
  const auto local = experiment.completed("local", four_workers(rounds_of(1)));
  CHECK(largest_difference(local.losses(), ddp.losses()) < 1e-4);
  for (const auto& event : local.events())
    CHECK(event.at("drift").get<double>() > 0);
}

TEST_CASE("steps before the first round match ddp") {
  const auto experiment = perceptron();
  const auto ddp = experiment.completed("ddp", four_workers({"parallel.strategy=ddp"}));
  const auto local =
      experiment.completed("local", four_workers(rounds_of(4, {"parallel.local_sgd.after=10"})));
  const auto a = ddp.losses(), b = local.losses();
  CHECK(std::vector(a.begin(), a.begin() + 11) == std::vector(b.begin(), b.begin() + 11));
  CHECK(a.back() != b.back());
  const auto events = local.events();
  CHECK_FALSE(events[9].contains("drift"));
  CHECK(events[11].contains("drift"));
}

TEST_CASE("a run stopped within a round resumes with the same bits") {
  const std::string momentum = GENERATE("kept", "reset", "averaged");
  CAPTURE(momentum);
  const auto experiment =
      perceptron({"checkpoint.every=10 steps", "train.optimizer.name=adamw",
                  "train.optimizer.lr=0.001", "train.optimizer.momentum.nesterov=false",
                  "train.schedule.name=constant", "train.schedule.warmup=0"});
  const auto settings = four_workers(rounds_of(7, {"parallel.local_sgd.momentum=" + momentum}));
  const auto whole = experiment.completed("whole", settings);
  CHECK(experiment.completed("half", settings + Settings{"train.max_steps=30"}).steps_done() == 30);
  const auto resumed = experiment.completed("half", settings);
  CHECK(resumed.digest() == whole.digest());
}

TEST_CASE("each sample is applied once per epoch when any node is lost during a round",
          "[exhaustive]") {
  const auto rounds =
      GENERATE(rounds_of(1), rounds_of(8), rounds_of(8, {"parallel.local_sgd.after=500"}));
  CAPTURE(rounds);
  check_counts_with_losses(ExactCounting{}, rounds);
}

TEST_CASE("settings that local_sgd does not support are refused with the reason") {
  const auto experiment = perceptron();
  const auto refused = [&](const std::string& setting, const std::string& reason) {
    CAPTURE(setting);
    const auto ended = experiment.train("refused", four_workers(rounds_of(4, {setting})));
    CHECK(ended.code == 2);
    CHECK(has(ended.err, reason));
  };
  refused("parallel.local_sgd.steps=0", "local_sgd.steps");
  refused("model.sync_batch_norm=true", "train independently");
  refused("parallel.mixed_precision.reduce=bf16", "averaged in fp32");
  refused("parallel.offload=optimizer", "on their devices");
  refused("parallel.local_sgd.momentum=half", "kept, reset, averaged");
}
