// Tests uses of trained models on a GPU: predictions and fine-tuning; and language models.
#include "tests/system/experiment.hpp"
#include "tests/system/gpus.hpp"
#include "tests/system/language_runs.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace troupe;
using namespace troupe::testing;

namespace {

using Logits = std::vector<double>;

struct Predicted {
  std::vector<Logits> samples;
  double accuracy = 0, loss = 0;
};

Predicted predicted_on(const std::string& device, const std::string& run) {
  const auto ended = RunningProgram{
      {TROUPE_PROGRAM, "predict", run, "--split", "test", "--each", "--logits", "--format", "json",
       "--device",
       device}}.wait();
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const auto said = nlohmann::json::parse(ended.out);
  Predicted found{.accuracy = said.at("split").at("accuracy").get<double>(),
                  .loss = said.at("split").at("loss").get<double>()};
  for (const auto& prediction : said.at("predictions"))
    found.samples.push_back(prediction.at("logits").get<Logits>());
  return found;
}

double largest(const Logits& logits) {
  double found = 0;
  for (const auto logit : logits)
    found = std::max(found, std::abs(logit));
  return found;
}

/// Returns the distance between the two largest logits.
double lead(Logits logits) {
  std::ranges::sort(logits, std::ranges::greater{});
  return logits[0] - logits[1];
}

/// Relative to the largest logit: a bit of fp32 is 6e-8, and a sum of 576 products in any order
/// loses at most 576 bits, typically their square root. Twenty layers add that up, and batch norms
/// may amplify it.
constexpr double rounding = 1e-4;

} // namespace

TEST_CASE("a GPU gives the same predictions as the host") {
  need_gpus(1);
  const Experiment experiment;
  const auto run =
      experiment.completed("run", {"devices.kind=cpu", "train.epochs=2"}).folder().string();
  const auto host = predicted_on("cpu", run), gpu = predicted_on("cuda", run);
  REQUIRE(host.samples.size() == 16);
  REQUIRE(gpu.samples.size() == host.samples.size());
  double bound = 0;
  for (const auto& logits : host.samples)
    bound = std::max(bound, rounding * largest(logits));
  int undecided = 0;
  for (std::size_t i = 0; i < host.samples.size(); ++i) {
    CAPTURE(i);
    for (std::size_t c = 0; c < host.samples[i].size(); ++c)
      CHECK(std::abs(gpu.samples[i][c] - host.samples[i][c]) <= bound);
    undecided += lead(host.samples[i]) <= 2 * bound ? 1 : 0;
  }
  CHECK(std::abs(gpu.accuracy - host.accuracy) * 16 <= undecided);
  // A sample's loss changes by at most twice the change of its logits.
  CHECK(std::abs(gpu.loss - host.loss) <= 2 * bound + 1e-6 * host.loss);
}

TEST_CASE("frozen modules keep their bits on a GPU, and factors change the learning rate") {
  need_gpus(1);
  const auto [strategy, count] = GENERATE(std::pair{"single", 1}, std::pair{"zero3", 2});
  CAPTURE(strategy);
  const Experiment experiment{{"run.deterministic=true", "train.max_steps=6",
                               "train.optimizer.lr=0.01", "train.evaluate_every=0",
                               "parallel.bucket_size=16KiB",
                               "train.freeze=[stem, layer1, layer2.1.conv1, layer3.0.bn1]"}};
  const Settings scaled = {"train.lr_scale={fc: 16, layer3.1: 0.5}"};
  const Settings on_host =
      Settings{"devices.kind=cpu"} + workers(count == 1 ? "single" : "ddp", count);
  const auto host = experiment.completed("host", on_host + scaled);
  const auto gpu = experiment.completed("gpu", Settings{"devices.kind=cuda"} +
                                                   workers(strategy, count) + scaled);
  constexpr double fp32_bound = 2e-3; // effect on losses of six steps of rounding
  CHECK(largest_difference(gpu.losses(), host.losses()) < fp32_bound);
  const auto without = experiment.completed("without", on_host);
  CHECK(largest_difference(without.losses(), host.losses()) > 5 * fp32_bound);

  const auto one = gpu.newest_checkpoint(), other = host.newest_checkpoint();
  for (const auto* const name : {"conv1.weight", "bn1.weight", "bn1.bias", "layer1.2.conv2.weight",
                                 "layer2.1.conv1.weight", "layer3.0.bn1.bias"}) {
    CAPTURE(name);
    CHECK(std::ranges::equal(one.find(name)->values, other.find(name)->values));
  }
}

TEST_CASE("language models on GPUs have the same losses with fused norms and sharded units") {
  need_gpus(1);
  const auto [model, recompute] =
      GENERATE(std::pair{"gpt2-mini", "none"}, std::pair{"llama-mini", "block"});
  CAPTURE(model);
  const auto experiment = on_text(model, {"devices.kind=cuda", "run.deterministic=true",
                                          "precision.mode=amp_bf16", "data.slices=2"});
  const auto fused = experiment.completed("fused");
  CHECK(fused.losses().back() < fused.losses().front() - 0.3);
  constexpr double rounding_bound = 1e-3; // of eight steps; a bit of bf16 is 8e-3
  const auto separate = experiment.completed("separate", {"devices.fusion=basic"});
  CHECK(largest_difference(fused.losses(), separate.losses()) < rounding_bound);
  const auto sharded = experiment.completed(
      "sharded", workers("fsdp", 2) + Settings{std::string{"train.recompute="} + recompute});
  CHECK(largest_difference(sharded.losses(), fused.losses()) < rounding_bound);
}
