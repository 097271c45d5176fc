#include "tests/support/checkpoint_files.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>

using namespace troupe;
using namespace troupe::testing;

namespace {

const Settings amp_fp16 = {"precision.mode=amp_fp16", "devices.engine=interpreter",
                           "train.evaluate_every=0", "train.max_steps=12",
                           "train.optimizer.lr=0.005",
                           // Gives runs of another length the same learning rates.
                           "train.schedule.name=constant", "train.schedule.warmup=0"};

} // namespace

TEST_CASE("amp_fp16 trains with a loss scale, which events and summary contain") {
  const Experiment experiment(amp_fp16);
  const auto run = experiment.completed("scaled");
  const auto exact = experiment.completed("exact", {"precision.mode=fp32"});
  CHECK(largest_difference(run.losses(), exact.losses()) < 0.05);
  CHECK(run.losses() != exact.losses());
  CHECK(run.summary().at("precision") == "amp_fp16");
  for (const auto& event : run.events()) {
    CHECK(event.at("loss_scale") == 65536.0);
    CHECK(event.at("skipped_steps") == 0);
  }
  CHECK(run.summary().at("loss_scale") == 65536.0);
  CHECK_FALSE(exact.summary().contains("loss_scale"));
}

TEST_CASE("a run with a loss scale resumes bit for bit, including the scale") {
  const Experiment experiment(amp_fp16);
  const auto whole = experiment.completed("whole");
  experiment.completed("parts", {"train.max_steps=5"});
  const auto parts = experiment.completed("parts");
  CHECK(parts.digest() == whole.digest());
  CHECK(parts.losses() == whole.losses());
  CHECK(parts.newest_checkpoint().metadata.at("loss_scale") == "65536 12 0 12 0");
}

TEST_CASE("the config sets the initial loss scale and its growth, or disables it") {
  Settings settings = amp_fp16;
  settings.insert(settings.end(), {"model.name=mlp", "precision.loss_scale.initial=1024",
                                   "precision.loss_scale.growth_factor=4",
                                   "precision.loss_scale.growth_interval=5"});
  const Experiment experiment(settings);
  const auto run = experiment.completed("scaled");
  CHECK(run.column<double>("loss_scale") == std::vector<double>{1024, 1024, 1024, 1024, 4096, 4096,
                                                                4096, 4096, 4096, 16384, 16384,
                                                                16384});
  CHECK(run.summary().at("loss_scale_growths") == 2);
  CHECK(run.summary().at("skipped_steps") == 0);
  const auto without = experiment.completed("without", {"precision.loss_scale=off"});
  CHECK_FALSE(without.summary().contains("loss_scale"));
  CHECK_FALSE(without.newest_checkpoint().metadata.contains("loss_scale"));
  CHECK(largest_difference(without.losses(), run.losses()) < 0.05);
}

TEST_CASE("a first step that overflows is skipped, and the scale is reduced as configured") {
  Settings settings = amp_fp16;
  settings.insert(settings.end(),
                  {"model.name=mlp", "checkpoint.every=1 steps", "train.max_steps=1",
                   "precision.loss_scale.initial=1099511627776", // 2^40
                   "precision.loss_scale.backoff_factor=0.25"});
  const Experiment experiment(settings);
  const auto ended = experiment.train("overflow");
  CAPTURE(ended.out, ended.err);
  REQUIRE(ended.code == 0);
  CHECK(has(ended.out, "step 1: skipped, because gradients are not finite (1 step skipped so far); "
                       "the loss scale is now 2.74878e+11"));
  const auto run = experiment.run("overflow");
  CHECK(run.summary().at("loss_scale") == 274877906944.0);
  CHECK(run.summary().at("skipped_steps") == 1);
  // Steps of this size change nothing: the parameters stay the initial ones.
  const auto untouched =
      experiment.completed("untouched", {"precision.mode=fp32", "train.optimizer.lr=1e-40"});
  CHECK(run.digest() == untouched.digest());
  const auto checkpoint = run.newest_checkpoint();
  CHECK(std::ranges::all_of(checkpoint.find("optimizer.momentum.fc.weight")->values,
                            [](float value) { return value == 0; }));
}

TEST_CASE("a run in fp32 resumes in amp_fp16 with an initial loss scale") {
  const Experiment experiment(amp_fp16);
  experiment.completed("mixed", {"train.max_steps=5", "precision.mode=fp32"});
  const auto run = experiment.completed("mixed");
  CHECK(run.newest_checkpoint().metadata.at("loss_scale") == "65536 7 0 12 0");
}

TEST_CASE("steps that overflow change nothing and reduce the scale until it fits", "[long]") {
  Settings settings = amp_fp16;
  SECTION("on one worker") {}
  SECTION("on two workers") {
    settings.insert(settings.end(), {"parallel.strategy=ddp", "devices.count=2"});
  }
  const Experiment experiment(settings);
  const auto run = experiment.completed("before", {"train.max_steps=5"});
  auto checkpoint = run.newest_checkpoint();
  checkpoint.metadata["loss_scale"] = "1099511627776 0 0 5 0"; // 2^40: far too much for f16
  const auto file = experiment / "overflow.safetensors";
  REQUIRE(write_checkpoint(file, checkpoint));

  const Settings resume = {"checkpoint.resume=" + file.string()};
  const auto one = experiment.completed("one", {resume[0], "train.max_steps=6"});
  CHECK(one.digest() == run.digest());
  CHECK(one.summary().at("skipped_steps") == 1);
  CHECK(one.summary().at("loss_scale") == 549755813888.0);

  const auto many = experiment.completed("many", {resume[0], "train.max_steps=40"});
  CHECK(many.digest() != run.digest());
  const auto scale = many.summary().at("loss_scale").get<double>();
  const auto skipped = many.summary().at("skipped_steps").get<int>();
  CHECK(scale == std::ldexp(1.0, 40 - skipped));
  CHECK(skipped < 35); // later steps were not skipped
  CHECK(many.events().back().at("skipped_steps") == skipped);
}
