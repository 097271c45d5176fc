// Tests the effect of precision.mode on whole runs: the values that pure fp16 and bf16 store, and
// checkpoints that resume in another precision.
#include "core/float16.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <fmt/format.h>

using namespace troupe;
using namespace troupe::testing;

namespace {

float rounded(const std::string& mode, float value) {
  return mode == "fp16" ? float_from_f16(f16_from_float(value))
                        : float_from_bf16(bf16_from_float(value));
}

/// Returns how many numbers of a checkpoint the type cannot represent.
std::size_t foreign_values(const Checkpoint& checkpoint, const std::string& mode) {
  std::size_t count = 0;
  for (const auto& tensor : checkpoint.tensors)
    for (const float value : tensor.values)
      count += rounded(mode, value) == value ? 0 : 1;
  return count;
}

/// Gives runs of another length the same learning rates.
const Settings constant_rate = {"train.schedule.name=constant", "train.schedule.warmup=0",
                                "train.optimizer.lr=0.005", "train.evaluate_every=0"};

} // namespace

TEST_CASE("pure fp16 and bf16 learn and only store values of the type", "[long]") {
  const std::string mode = GENERATE("fp16", "bf16");
  Settings settings = {"precision.mode=" + mode};
  SECTION("sgd on the fast engine") {}
  SECTION("sgd on the interpreter") {
    settings.push_back("devices.engine=interpreter");
  }
  SECTION("adamw") {
    settings.insert(settings.end(),
                    {"train.optimizer.name=adamw", "train.optimizer.momentum.nesterov=false",
                     "train.optimizer.lr=1e-3", "train.optimizer.eps=1e-4"});
  }
  SECTION("two workers that accumulate and clip") {
    settings.insert(settings.end(), {"parallel.strategy=ddp", "devices.count=2",
                                     "train.accumulate=2", "train.clip_grad=5"});
  }
  const Experiment experiment(settings);
  const auto run = experiment.completed("pure");
  CHECK(foreign_values(run.newest_checkpoint(), mode) == 0);
  CHECK(run.summary().at("precision") == mode);
  CHECK_FALSE(run.summary().contains("loss_scale"));
  const auto losses = run.losses();
  CHECK(losses.back() < losses.front());
}

TEST_CASE("ten steps of every precision match fp32's losses as closely as the precision allows") {
  const std::string mode = GENERATE("fp16", "bf16", "amp_fp16", "amp_bf16");
  Settings settings = constant_rate;
  settings.push_back("train.max_steps=10");
  const Experiment experiment(settings);
  const auto exact = experiment.completed("exact"),
             run = experiment.completed("run", {"precision.mode=" + mode});
  INFO(mode);
  CHECK(run.losses() != exact.losses());
  CHECK(largest_difference(run.losses(), exact.losses()) < (mode.ends_with("fp16") ? 0.05 : 0.2));
}

TEST_CASE("a run in pure fp16 or bf16 resumes from its checkpoint bit for bit") {
  const std::string mode = GENERATE("fp16", "bf16");
  Settings settings = constant_rate;
  settings.insert(settings.end(), {"precision.mode=" + mode, "train.max_steps=12"});
  const Experiment experiment(settings);
  const auto whole = experiment.completed("whole");
  experiment.completed("parts", {"train.max_steps=5"});
  const auto parts = experiment.completed("parts");
  CHECK(parts.digest() == whole.digest());
  CHECK(parts.losses() == whole.losses());
}

TEST_CASE("a run resumes in any other precision, reports it and gets a loss scale if needed") {
  Settings settings = constant_rate;
  settings.push_back("train.max_steps=8");
  const Experiment experiment(settings);
  std::string before = "fp32";
  experiment.completed("mixed", {"train.max_steps=2"});
  for (const std::string after : {"amp_fp16", "bf16", "amp_bf16", "fp16", "amp_fp16", "fp32"}) {
    INFO(before << " to " << after);
    const auto steps = experiment.run("mixed").steps_done() + 1;
    const auto ended = experiment.train(
        "mixed", {"precision.mode=" + after, "train.max_steps=" + std::to_string(steps)});
    REQUIRE(ended.code == 0);
    CHECK(has(ended.out + ended.err,
              fmt::format("was trained in {}; continuing in {}", before, after)));
    const auto checkpoint = experiment.run("mixed").newest_checkpoint();
    CHECK(checkpoint.metadata.at("precision") == after);
    CHECK(checkpoint.metadata.contains("loss_scale") == (after == "amp_fp16"));
    if (after == "fp16" || after == "bf16")
      CHECK(foreign_values(checkpoint, after) == 0);
    before = after;
  }
}

TEST_CASE("a run in pure fp16 or bf16 whose loss overflows ends with advice") {
  const Experiment experiment({"precision.mode=fp16", "train.optimizer.lr=1e6"});
  const auto ended = experiment.train("overflow");
  CHECK(ended.code == 1);
  const auto error = experiment.run("overflow").summary().at("error").get<std::string>();
  CHECK(has(error, "in pure fp16"));
  CHECK(has(error, "amp_fp16"));
  CHECK(has(error, "rank 0"));
}
