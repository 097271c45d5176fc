#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::testing;

namespace {

struct Recomputed {
  const char* what;
  Settings settings;
};

} // namespace

TEST_CASE("a run with recomputed activations has the same bits and needs less memory", "[long]") {
  const auto& [what, settings] =
      GENERATE(Recomputed{"alone", {}}, Recomputed{"accumulating", {"train.accumulate=2"}},
               Recomputed{"ddp", {"parallel.strategy=ddp", "devices.count=2"}},
               Recomputed{"the interpreter", {"devices.engine=interpreter", "train.max_steps=4"}},
               Recomputed{"amp_bf16", {"precision.mode=amp_bf16"}},
               Recomputed{"amp_fp16", {"precision.mode=amp_fp16"}});
  CAPTURE(what);
  auto common = settings;
  if (std::ranges::none_of(common, [](const auto& s) { return has(s, "max_steps"); }))
    common.push_back("train.max_steps=12");
  const Experiment experiment{common};
  const auto plain = experiment.completed("plain");
  CHECK_FALSE(plain.summary().contains("recompute"));
  const auto again = experiment.completed("again", {"train.recompute=block"});
  CHECK(again.digest() == plain.digest());
  CHECK(again.losses() == plain.losses());
  const auto a = again.newest_checkpoint(), b = plain.newest_checkpoint();
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (const auto& tensor : a.tensors) {
    INFO(tensor.name); // also running statistics
    REQUIRE(b.find(tensor.name) != nullptr);
    CHECK(std::ranges::equal(tensor.values, b.find(tensor.name)->values));
  }
  const auto saved = again.summary().at("recompute");
  CHECK(saved.at("activation_bytes") < saved.at("activation_bytes_without"));
  CHECK(saved.at("operations_ratio") > 0.05);
}

TEST_CASE(
    "activations fit into the requested size, and a size that is too small is invalid input") {
  const Experiment experiment{{"train.max_steps=2", "train.evaluate_every=0"}};
  const auto block = experiment.completed("block", {"train.recompute=block"});
  const auto without =
      block.summary().at("recompute").at("activation_bytes_without").get<std::uint64_t>();
  const auto size = std::to_string(without * 3 / 4);
  const auto fits = experiment.completed("fits", {"train.recompute={fit: " + size + "}"});
  CHECK(fits.summary().at("recompute").at("activation_bytes") <= without * 3 / 4);
  const auto ended = experiment.train("tiny", {"train.recompute={fit: 1KiB}"});
  CHECK(ended.code == 2);
  CHECK(has(ended.err, "this model and batch need at least"));
}

TEST_CASE("unknown units to recompute are named before training and by config check") {
  const Experiment experiment;
  const auto ended = experiment.train("wrong", {"train.recompute=[layer1, layr2.0]"});
  CHECK(ended.code == 2);
  CHECK(has(ended.err, "layr2.0"));
  CHECK(has(ended.err, "layer2.0"));
  const auto checked =
      RunningProgram{{TROUPE_PROGRAM, "config", "check", Experiment::small_config().string(),
                      "--set", "train.recompute=[layr2.0]"}}
          .wait();
  CHECK(checked.code == 2);
  CHECK(has(checked.err, "layer2.0"));
}
