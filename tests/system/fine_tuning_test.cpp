// Tests training from other weights: model.pretrained, train.freeze, train.lr_scale.
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::testing;

namespace {

struct TunedMode {
  const char* what;
  Settings settings;
};

Settings two(const std::string& strategy) {
  return workers(strategy, 2) + Settings{"parallel.bucket_size=16KiB"};
}

/// Returns every way in which a parameter may be updated.
std::vector<TunedMode> modes() {
  return {{"alone", {}},
          {"accumulating", {"train.accumulate=2"}},
          {"the interpreter", {"devices.engine=interpreter"}},
          {"amp_bf16", {"precision.mode=amp_bf16"}},
          {"amp_fp16", {"precision.mode=amp_fp16"}},
          {"bf16", {"precision.mode=bf16"}},
          {"clipped", {"train.clip_grad=0.5"}},
          {"adamw",
           {"train.optimizer.name=adamw", "train.optimizer.lr=0.0078125",
            "train.optimizer.momentum=0", "train.optimizer.momentum.nesterov=false"}},
          {"recomputed", {"train.recompute=block"}},
          {"dp", two("dp")},
          {"ddp", two("ddp")},
          {"ddp in one bucket", workers("ddp", 2)},
          {"ddp, accumulating", two("ddp") + Settings{"train.accumulate=2"}},
          {"zero1", two("zero1")},
          {"zero2", two("zero2")},
          {"zero2, clipped", two("zero2") + Settings{"train.clip_grad=0.5"}},
          {"zero3", two("zero3")},
          {"zero3, accumulating", two("zero3") + Settings{"train.accumulate=2"}},
          {"zero3, amp_fp16", two("zero3") + Settings{"precision.mode=amp_fp16"}},
          {"hsdp", workers("hsdp", 4)},
          {"offload", {"parallel.offload=optimizer"}},
          {"half offload", two("zero2") + Settings{"parallel.offload={optimizer: 0.5}"}},
          {"offloaded parameters", two("zero3") + Settings{"parallel.offload=parameters"}}};
}

bool same_values(const Checkpoint& a, const Checkpoint& b, const std::string& name) {
  const auto *one = a.find(name), *other = b.find(name);
  REQUIRE(one);
  REQUIRE(other);
  return std::ranges::equal(one->values, other->values);
}

bool is_parameter(const std::string& name) {
  return !has(name, ".running_") && !name.starts_with("optimizer.");
}

bool is_of(const std::string& name, const std::vector<std::string>& modules) {
  return std::ranges::any_of(modules, [&](const auto& m) { return name.starts_with(m + "."); });
}

} // namespace

TEST_CASE("frozen modules are unchanged with every strategy, and others learn", "[long]") {
  const auto mode = GENERATE(from_range(modes()));
  CAPTURE(mode.what);
  const Experiment experiment(
      Settings{"data.batch_size=16", "train.max_steps=4", "train.evaluate_every=0"} +
      mode.settings);
  const auto first = experiment.completed("first", {"train.max_steps=1"});
  const auto weights = first.newest_checkpoint();
  const auto pretrained = "model.pretrained=" + first.checkpoints().back().string();
  const auto run = experiment.completed(
      "frozen", {pretrained, "train.freeze=[stem, layer1, layer2.1.conv1, layer3.0.bn1]"});
  const auto trained = run.newest_checkpoint();
  const std::vector<std::string> frozen = {"conv1", "bn1", "layer1", "layer2.1.conv1",
                                           "layer3.0.bn1"};
  for (const auto& tensor : trained.tensors) {
    INFO(tensor.name);
    if (tensor.name.starts_with("optimizer."))
      CHECK(std::ranges::all_of(tensor.values, [](float v) { return v == 0; }) ==
            is_of(tensor.name.substr(tensor.name.find('.', 10) + 1), frozen));
    else if (is_parameter(tensor.name) && is_of(tensor.name, frozen))
      CHECK(same_values(trained, weights, tensor.name));
    else if (tensor.name.ends_with(
                 "conv1.weight")) // in bf16, rounding may remove all updates of a scale
      CHECK_FALSE(same_values(trained, weights, tensor.name));
    else if (has(tensor.name, ".running_")) // as with PyTorch's requires_grad
      CHECK_FALSE(same_values(trained, weights, tensor.name));
  }
}

TEST_CASE("a factor for all modules equals another learning rate, with every strategy", "[long]") {
  const auto mode = GENERATE(from_range(modes()));
  CAPTURE(mode.what);
  const Experiment experiment(Settings{"data.batch_size=16", "train.max_steps=4",
                                       "train.evaluate_every=0", "train.schedule.name=constant",
                                       "train.schedule.warmup=0", "train.optimizer.lr=0.0625"} +
                              mode.settings);
  const auto higher =
      experiment.completed("higher", {std::string{"train.optimizer.lr="} +
                                      (has(mode.what, "adamw") ? "0.03125" : "0.25")});
  const auto scaled = experiment.completed(
      "scaled",
      {"train.lr_scale={stem: 4, layer1: 4, layer2: 4, layer3: 4, layer3.1: 4.0, fc: 4}"});
  check_same(higher, scaled);
}

TEST_CASE("a factor multiplies the first update of only its module") {
  const Experiment experiment({"train.max_steps=1", "train.schedule.warmup=0"});
  const auto plain = experiment.completed("plain").newest_checkpoint();
  const auto higher =
      experiment.completed("higher", {"train.optimizer.lr=0.2"}).newest_checkpoint();
  const auto scaled =
      experiment.completed("scaled", {"train.lr_scale={layer2: 4}"}).newest_checkpoint();
  for (const auto& tensor : scaled.tensors) {
    INFO(tensor.name);
    if (is_parameter(tensor.name))
      CHECK(same_values(scaled, is_of(tensor.name, {"layer2"}) ? higher : plain, tensor.name));
  }
}

TEST_CASE("a run with frozen modules resumes from its checkpoint bit for bit") {
  const Experiment experiment(
      {"train.freeze=[stem, layer1]", "train.lr_scale={fc: 10}", "train.max_steps=6"});
  const auto whole = experiment.completed("whole");
  experiment.completed("parts", {"train.max_steps=3"});
  const auto parts = experiment.completed("parts");
  CHECK(whole.digest() == parts.digest());
}

TEST_CASE("weights for other classes start with a new head, and the run reports it") {
  const Experiment experiment({"train.max_steps=2", "train.evaluate_every=0"});
  const auto first = experiment.completed("first");
  const auto ended = experiment.train(
      "other", {"model.pretrained=" + first.checkpoints().back().string(), "model.num_classes=7"});
  CHECK(ended.code == 0);
  CHECK(has(ended.out + ended.err, "fc.weight: 10x64 in the file, 7x64 here: newly initialized"));
}

TEST_CASE("weights of another model and unknown names are invalid input") {
  const Experiment experiment({"train.max_steps=2"});
  const auto first = experiment.completed("first");
  auto ended = experiment.train(
      "deeper", {"model.pretrained=" + first.checkpoints().back().string(), "model.name=resnet32"});
  CHECK(ended.code == 2);
  CHECK(has(ended.err, "layer1.3.conv1.weight: not in the file, expected 16x16x3x3"));
  ended = experiment.train("frozen", {"train.freeze=[stam]"});
  CHECK(ended.code == 2);
  CHECK(has(ended.err, "train.freeze: the model has no unit or module \"stam\""));
  CHECK(has(ended.err, "did you mean \"stem\"?"));
  ended = experiment.train("zero", {"train.lr_scale={fc: 0}"});
  CHECK(ended.code == 2);
  CHECK(has(ended.err, "train.lr_scale: fc: a factor of 0 would not train it"));
  CHECK(has(ended.err, "train.freeze"));
}
