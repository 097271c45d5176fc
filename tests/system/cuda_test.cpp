// Compares jobs on GPUs with the same jobs on the host.
#include "tests/system/experiment.hpp"
#include "tests/system/gpus.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <csignal>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Few and small steps: a rounding that moves a value over a relu's edge changes the whole
/// training.
Settings short_run(const Settings& more = {}) {
  return Settings{"devices.kind=cuda", "run.deterministic=true", "train.max_steps=6",
                  "train.optimizer.lr=0.01", "train.evaluate_every=1"} +
         more;
}

/// Relative bounds of losses after six steps of rounding in fp32 and in narrower types.
constexpr double fp32_bound = 2e-3, narrow_bound = 5e-2;

} // namespace

TEST_CASE("a GPU has the host's losses in every precision") {
  need_gpus(1);
  const std::string precision = GENERATE("fp32", "tf32", "amp_fp16", "amp_bf16", "fp16", "bf16");
  CAPTURE(precision);
  const Experiment experiment{short_run()};
  const auto found = experiment.completed("gpu", {"precision.mode=" + precision});
  // The host rounds to these types in other places.
  const auto host = experiment.completed("host", {"devices.kind=cpu"});
  CHECK(largest_difference(found.losses(), host.losses()) <
        (precision == "fp32" ? fp32_bound : narrow_bound));
  CHECK(found.epochs().size() == host.epochs().size());
}

TEST_CASE("a GPU has the host's losses for models without convolutions") {
  need_gpus(1);
  const std::string model = GENERATE("mlp", "linear"), precision = GENERATE("fp32", "amp_fp16");
  CAPTURE(model, precision);
  const Experiment experiment{short_run({"model.name=" + model, "precision.mode=" + precision})};
  const auto host = experiment.completed("host", {"devices.kind=cpu"});
  for (const std::string residency : {"device", "host"}) {
    CAPTURE(residency);
    const auto found = experiment.completed(residency, {"data.residency=" + residency});
    CHECK(largest_difference(found.losses(), host.losses()) <
          (precision == "fp32" ? fp32_bound : narrow_bound));
  }
}

TEST_CASE("residency of images, recomputation and offload do not change the result") {
  need_gpus(1);
  const Experiment experiment{short_run()};
  const auto plain = experiment.completed("plain");
  for (const char* setting :
       {"data.residency=host", "train.recompute=block", "parallel.offload=optimizer"}) {
    CAPTURE(setting);
    const auto other = experiment.completed(setting, {setting});
    CHECK(largest_difference(other.losses(), plain.losses()) < fp32_bound);
  }
}

TEST_CASE("every strategy has the same result on workers that share a GPU and on separate GPUs") {
  const int gpus = GENERATE(1, 2);
  need_gpus(gpus);
  const std::string precision = GENERATE("fp32", "amp_fp16");
  CAPTURE(gpus, precision);
  const Experiment experiment{short_run({"precision.mode=" + precision})};
  const auto host = experiment.completed("host", workers("ddp", 2) + Settings{"devices.kind=cpu"});
  const auto ddp = experiment.completed("ddp", workers("ddp", 2));
  CHECK(largest_difference(ddp.losses(), host.losses()) <
        (precision == "fp32" ? fp32_bound : narrow_bound));
  for (const std::string strategy : {"zero1", "zero2", "zero3"}) {
    CAPTURE(strategy);
    const auto run = experiment.completed(strategy, workers(strategy, 2));
    CHECK(largest_difference(run.losses(), ddp.losses()) < fp32_bound);
  }
}

TEST_CASE("a GPU has the host's gradient norm, and measuring it changes nothing") {
  need_gpus(1);
  const std::string strategy = GENERATE("single", "ddp", "zero2", "zero3");
  CAPTURE(strategy);
  const Experiment experiment{short_run(workers(strategy, strategy == "single" ? 1 : 2))};
  const auto plain = experiment.completed("plain");
  const auto measured = experiment.completed("measured", {"train.gradient_norm_every=1"});
  CHECK(measured.losses() == plain.losses());
  CHECK(measured.digest() == plain.digest());
  const auto host =
      experiment.completed("host", {"train.gradient_norm_every=1", "devices.kind=cpu"});
  const auto norms = measured.column<double>("gradient_norm");
  CHECK(norms.at(0) ==
        Catch::Approx(host.column<double>("gradient_norm").at(0)).epsilon(fp32_bound));
}

TEST_CASE("workers on GPUs with synchronized batch norm match one worker") {
  const int gpus = GENERATE(1, 2);
  need_gpus(gpus);
  CAPTURE(gpus);
  const Experiment experiment{short_run({"model.sync_batch_norm=true"})};
  const auto alone = experiment.completed("alone", workers("single", 1));
  for (const std::string strategy : {"ddp", "zero3"}) {
    CAPTURE(strategy);
    const auto together = experiment.completed(strategy, workers(strategy, 2));
    CHECK(largest_difference(together.losses(), alone.losses()) < fp32_bound);
  }
}

TEST_CASE("a stopped run on a GPU saves its last step and resumes from it") {
  need_gpus(1);
  const Experiment experiment{{"devices.kind=cuda", "run.deterministic=true", "train.epochs=3",
                               "checkpoint.every=30 epochs"}};
  const auto undisturbed = experiment.completed("undisturbed");
  const auto run = experiment.run("stopped");
  {
    auto program = experiment.start("stopped");
    REQUIRE(becomes_true([&] { return run.steps_done() >= 3 || !program.running(); }));
    program.send(SIGTERM);
    const auto ended = program.wait();
    CAPTURE(ended.out, ended.err);
    REQUIRE(ended.code == 128 + SIGTERM);
  }
  const auto steps = run.summary().at("steps").get<std::int64_t>();
  CHECK(run.summary().at("status") == "stopped");
  CHECK(run.newest_checkpoint().step == steps);
  experiment.completed("stopped");
  CHECK(run.column<std::int64_t>("step") == all_steps(24));
  CHECK(largest_difference(run.losses(), undisturbed.losses()) < fp32_bound);
}
