#include "nn/compile.hpp"
#include "nn/ops/record.hpp"
#include "nn/passes/plan_memory.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

Graph prepared(const std::string& name, std::int64_t image_size, std::int64_t batch,
               PassMode pass_mode, bool bf16 = false, Stem stem = Stem::cifar) {
  ModelConfig config;
  config.name = name;
  config.stem = stem;
  const auto forward = build_model(config, {.input = image_input(image_size),
                                            .batch = batch,
                                            .training = pass_mode == PassMode::training});
  REQUIRE(forward.has_value());
  const auto ready = run_passes(*forward, pass_mode,
                                {.fuse = FusePatterns::all(),
                                 .precision = bf16 ? Precision::amp_bf16 : Precision::fp32,
                                 .memory = {}});
  INFO((ready ? "" : ready.error().to_string()));
  REQUIRE(ready.has_value());
  return ready->graph;
}

MemoryPlan plan(const Graph& graph, const PlanOptions& options = {}) {
  const auto planned = plan_memory(graph, options);
  REQUIRE(planned.has_value());
  return *planned;
}

/// Whether two tensors share bytes of the arena.
bool overlap(const Graph& graph, const MemoryPlan& plan, TensorId a, TensorId b) {
  const auto begin_a = plan.offsets[static_cast<std::size_t>(a)];
  const auto begin_b = plan.offsets[static_cast<std::size_t>(b)];
  return begin_a != MemoryPlan::not_in_arena && begin_b != MemoryPlan::not_in_arena &&
         begin_a < begin_b + bytes_of(graph[b]) && begin_b < begin_a + bytes_of(graph[a]);
}

} // namespace

TEST_CASE("results do not change when activations share an arena", "[long]") {
  for (const bool bf16 : {false, true})
    for (const char* name : {"resnet20", "resnet18", "mlp"}) {
      INFO(name << " bf16 " << bf16);
      const auto graph = prepared(name, 8, 4, PassMode::training, bf16);
      const auto planned = plan(graph, {.keep = {"logits"}});
      GraphRunner apart{graph}, shared{graph, planned};
      apart.fill();
      shared.fill();
      for (int i = 0; i < 2; ++i) { // the second pass starts with the leftovers of the first
        apart.run();
        shared.run();
      }
      CHECK(shared.get("logits") == apart.get("logits"));
      for (const auto role : {Role::gradient, Role::output, Role::statistic})
        for (const auto id : graph.with_role(role))
          CHECK(shared.get(graph[id].name) == apart.get(graph[id].name));
    }
}

TEST_CASE("every activation is aligned and inside the arena, other tensors are outside") {
  const auto graph = prepared("resnet18", 16, 2, PassMode::training);
  const auto planned = plan(graph);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto offset = planned.offsets[i];
    if (graph.tensors[i].role == Role::activation) {
      CHECK(offset % 64 == 0);
      CHECK(offset < planned.arena_bytes);
    } else {
      CHECK(offset == MemoryPlan::not_in_arena);
    }
  }
}

TEST_CASE("the arena of every ResNet is within 2% of the lower bound") {
  struct Case {
    const char* name;
    std::int64_t image_size, batch;
    Stem stem;
    PassMode pass_mode;
  };
  for (const auto& c : {Case{"resnet20", 32, 128, Stem::cifar, PassMode::training},
                        Case{"resnet20", 32, 256, Stem::cifar, PassMode::evaluation},
                        Case{"resnet56", 32, 128, Stem::cifar, PassMode::training},
                        Case{"resnet18", 224, 8, Stem::imagenet, PassMode::training},
                        Case{"resnet50", 224, 8, Stem::imagenet, PassMode::training},
                        Case{"resnet50", 224, 8, Stem::imagenet, PassMode::evaluation},
                        Case{"resnet152", 224, 8, Stem::imagenet, PassMode::training}}) {
    const auto graph = prepared(c.name, c.image_size, c.batch, c.pass_mode, false, c.stem);
    const auto live = live_bytes(graph);
    REQUIRE(live.has_value());
    const auto bound = static_cast<double>(std::ranges::max(*live));
    const auto arena = static_cast<double>(plan(graph).arena_bytes);
    INFO(c.name << " " << c.image_size << ": arena " << arena / 1e6 << " MB, bound " << bound / 1e6
                << " MB");
    CHECK(arena >= bound);
    CHECK(arena <= 1.02 * bound);
  }
}

TEST_CASE("kept tensors survive the pass") {
  const auto graph = prepared("resnet20", 8, 2, PassMode::evaluation);
  const auto planned = plan(graph, {.keep = {"relu", "logits"}});
  GraphRunner apart{graph}, shared{graph, planned};
  apart.fill();
  shared.fill();
  apart.run();
  shared.run();
  CHECK(shared.get("relu") == apart.get("relu"));
  CHECK(planned.kept[static_cast<std::size_t>(*graph.find("relu"))]);
  CHECK(planned.arena_bytes >= plan(graph).arena_bytes);
}

TEST_CASE("keeping a tensor that does not exist is an error that names it") {
  const auto graph = prepared("mlp", 8, 2, PassMode::evaluation);
  const auto planned = plan_memory(graph, {.keep = {"logist"}});
  REQUIRE_FALSE(planned.has_value());
  CHECK_THAT(planned.error().message, Catch::Matchers::ContainsSubstring("logist"));
}

TEST_CASE("an output shares the memory of an input only if its op runs in place") {
  const auto graph = prepared("resnet20", 8, 4, PassMode::training);
  const auto planned = plan(graph);
  std::size_t shared = 0;
  for (const auto& node : graph.nodes)
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      for (const auto output : node.outputs) {
        if (!overlap(graph, planned, node.inputs[i], output))
          continue;
        INFO(to_string(node.op) << " " << graph[output].name);
        CHECK(output == node.outputs[0]);
        CHECK(i < record_of(node.op).in_place);
        ++shared;
      }
  CHECK(shared > 0);
}

TEST_CASE("a device can declare further ops that run in place") {
  const auto graph = prepared("resnet20", 8, 4, PassMode::training);
  const auto in_place = [&](const PlanOptions& options) {
    const auto planned = plan(graph, options);
    return std::ranges::count_if(graph.nodes, [&](const Node& node) {
      return node.op == Op::batch_norm_backward &&
             overlap(graph, planned, node.inputs[0], node.outputs[0]);
    });
  };
  CHECK(in_place({}) == 0);
  CHECK(in_place({.keep = {}, .also_in_place = {Op::batch_norm_backward}}) > 0);
}
