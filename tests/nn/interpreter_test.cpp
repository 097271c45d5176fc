// Tests the interpreter as an engine of the host device: streams, flat buffers, codecs, memory
// plans.
#include "core/config/config.hpp"
#include "tests/nn/engine_runner.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

constexpr std::int64_t batch = 2;

PreparedModel prepare(PassMode pass_mode) {
  Config config;
  config.model.name = "resnet20";
  config.data.image_size = 8;
  auto ready = prepare_model(config, batch, pass_mode,
                             {.fuse = FusePatterns::all(), .memory = {.keep = {"logits"}}});
  INFO((ready ? "" : ready.error().to_string()));
  REQUIRE(ready.has_value());
  return *ready;
}

/// Stores values in reverse order with one element of padding.
struct ReversingCodec final : ParameterCodec {
  void encode(std::span<const float> canonical, std::span<float> stored) const override {
    std::ranges::reverse_copy(canonical, stored.begin());
    stored.back() = 0;
  }
  void decode(std::span<const float> stored, std::span<float> canonical) const override {
    std::ranges::reverse_copy(stored.first(canonical.size()), canonical.begin());
  }
  BlockedLayout layout() const override { return {}; } // no blocked layout describes this
};

constexpr auto engine = Engine::interpreter;

/// Fills in the values of GraphRunner::fill.
void fill(EngineRunner& runner, const Graph& graph) {
  GraphRunner values{graph};
  values.fill();
  runner.fill([&](const std::string& name, const Shape&) { return values.get(name); });
  std::vector<std::int32_t> labels;
  for (const float label : values.get("labels"))
    labels.push_back(static_cast<std::int32_t>(label));
  runner.set_batch(values.get("images"), labels);
}

} // namespace

TEST_CASE("the interpreter gives the results of its ops, with and without a memory plan") {
  const auto ready = prepare(PassMode::training);
  GraphRunner expected{ready.graph};
  expected.fill();
  expected.run();
  for (const bool planned : {false, true}) {
    EngineRunner runner{ready.graph, engine, planned ? ready.memory : MemoryPlan{}};
    fill(runner, ready.graph);
    REQUIRE(runner.run(true).has_value());
    CHECK(runner.outputs()["loss"] == expected.get("loss")[0]);
    CHECK(runner.outputs()["correct"] == expected.get("correct")[0]);
    for (const auto& slot : runner.executable().layout().parameters)
      CHECK(runner.gradient(slot.name) == expected.get(slot.name + ".grad"));
    for (const auto& slot : runner.executable().layout().statistics)
      CHECK(runner.statistic(slot.name) == expected.get(slot.name));
    CHECK(runner.tensor("logits", 20) == expected.get("logits"));
  }
}

TEST_CASE("the interpreter reads and writes another engine's layout") {
  const auto ready = prepare(PassMode::training);
  EngineRunner plain{ready.graph, engine, {}};
  auto layout = plain.executable().layout();
  std::ranges::fill(layout.unit_elements, 0u);
  for (auto& slot : layout.parameters) {
    auto& end = layout.unit_elements[static_cast<std::size_t>(slot.unit)];
    slot.codec = std::make_shared<ReversingCodec>();
    slot.offset = end;
    end += ++slot.elements;
  }
  EngineRunner coded{ready.graph, engine, {}, &layout};
  for (auto* runner : {&plain, &coded}) {
    fill(*runner, ready.graph);
    REQUIRE(runner->run(true).has_value());
  }
  CHECK(coded.outputs()["loss"] == plain.outputs()["loss"]);
  for (const auto& slot : layout.parameters)
    CHECK(coded.gradient(slot.name) == plain.gradient(slot.name));
}

TEST_CASE("an evaluation graph runs on the layout of training") {
  const auto training = prepare(PassMode::training), evaluation = prepare(PassMode::evaluation);
  EngineRunner train{training.graph, engine, training.memory};
  EngineRunner evaluate{evaluation.graph, engine, evaluation.memory, &train.executable().layout()};
  fill(evaluate, evaluation.graph);
  REQUIRE(evaluate.run(false).has_value());
  GraphRunner expected{evaluation.graph};
  expected.fill();
  expected.run();
  CHECK(evaluate.outputs()["loss"] == expected.get("loss")[0]);
}

TEST_CASE("tensors that are unknown, not kept or of another size cannot be read") {
  const auto ready = prepare(PassMode::evaluation);
  EngineRunner runner{ready.graph, engine, ready.memory};
  std::vector<float> room(20);
  auto& e = runner.executable();
  CHECK_FALSE(e.read_tensor(runner.stream(), "logist", room).has_value());
  CHECK_FALSE(e.read_tensor(runner.stream(), "flatten", room).has_value());
  CHECK_FALSE(e.read_tensor(runner.stream(), "logits", std::span{room}.first(3)).has_value());
  CHECK(e.read_tensor(runner.stream(), "logits", room).has_value());
  CHECK(runner.stream().synchronize().has_value());
}

TEST_CASE("a label outside of the classes fails the stream with a data error") {
  const auto ready = prepare(PassMode::evaluation);
  EngineRunner runner{ready.graph, engine, ready.memory};
  fill(runner, ready.graph);
  runner.set_batch(std::vector<float>(2 * 8 * 8 * 3), {3, 10});
  const auto done = runner.run(false);
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().code == Errc::data);
  CHECK(done.error().message == "a label is 10, but there are 10 classes");
}
