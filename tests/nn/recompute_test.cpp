#include "core/random.hpp"
#include "nn/compile.hpp"
#include "nn/passes/recompute.hpp"
#include "nn/validate.hpp"
#include "tests/devices/networks.hpp"
#include "tests/nn/graph_runner.hpp"
#include "tests/support/initial_values.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

/// A training graph that keeps all of its activations, and initial values.
struct Training {
  Graph graph;
  std::vector<InitialTensor> values;
};

Training training(const Graph& forward, const PassOptions& options) {
  auto values = initial_values(forward, 1);
  REQUIRE(values.has_value());
  auto ready = run_passes(forward, PassMode::training, options);
  INFO((ready ? "" : ready.error().to_string()));
  REQUIRE(ready.has_value());
  return {std::move(ready->graph), std::move(*values)};
}

Training training(const std::string& name, const PassOptions& options) {
  ModelConfig config;
  config.name = name;
  const auto forward = build_model(config, {.input = image_input(8), .batch = 4});
  REQUIRE(forward.has_value());
  return training(*forward, options);
}

/// Returns pass options as devices have them, with batch norm whole or split.
PassOptions options(bool apart, Precision precision = Precision::fp32) {
  PassOptions options{.fuse = FusePatterns::all(), .precision = precision};
  if (apart)
    options.fuse_statistics = {[](const Graph&, const Node&) { return 0.0; }};
  return options;
}

TensorSet all_candidates(const Graph& graph) {
  TensorSet again(graph.tensors.size());
  const Recomputation recomputation{graph};
  for (const auto id : recomputation.candidates())
    again[static_cast<std::size_t>(id)] = true;
  return again;
}

TensorSet some_candidates(const Graph& graph, std::uint64_t seed) {
  CounterRng random{seed, 0};
  auto again = all_candidates(graph);
  for (std::size_t i = 0; i < again.size(); ++i)
    again[i] = again[i] && random.uniform() < 0.5f;
  return again;
}

Graph recomputed(const Graph& graph, const TensorSet& again) {
  auto result = recompute(graph, again);
  const auto valid = validate(result);
  INFO((valid ? "" : valid.error().to_string()));
  REQUIRE(valid.has_value());
  return result;
}

/// Runs two passes: the second reads the running statistics of the first.
void run_twice(GraphRunner& runner, const Training& plain) {
  runner.fill();
  if (runner.has("loss_scale"))
    runner.set("loss_scale", {256.0f});
  for (const auto& tensor : plain.values)
    runner.set(tensor.name, tensor.values);
  runner.run();
  runner.run();
}

/// Compares runs; the memory plan detects a read of a tensor that was not recomputed.
void check_same_bits(const Training& plain, const TensorSet& chosen) {
  const auto again = recomputed(plain.graph, chosen);
  const auto planned = plan_memory(again);
  REQUIRE(planned.has_value());
  GraphRunner a{plain.graph}, b{again, *planned};
  run_twice(a, plain);
  run_twice(b, plain);
  for (const auto role : {Role::gradient, Role::statistic, Role::output})
    for (const auto id : plain.graph.with_role(role)) {
      const auto& name = plain.graph[id].name;
      INFO(name);
      REQUIRE(b.get(name) == a.get(name));
    }
}

std::ptrdiff_t count(const Graph& graph, Op op, Phase phase) {
  return std::ranges::count_if(
      graph.nodes, [&](const Node& node) { return node.op == op && node.phase == phase; });
}

} // namespace

TEST_CASE("recomputed tensors have the same bits") {
  for (const auto* const name : {"resnet20", "mlp"})
    for (const auto precision : {Precision::fp32, Precision::amp_bf16, Precision::amp_fp16})
      for (const bool apart : {false, true}) {
        INFO(name << ", " << to_string(precision) << (apart ? ", apart" : ""));
        const auto plain = training(name, options(apart, precision));
        check_same_bits(plain, all_candidates(plain.graph));
      }
}

TEST_CASE("any part of a network can be recomputed") {
  for (const bool apart : {false, true}) {
    const auto bottlenecks =
        training(testing::bottleneck_network({4, 32, 32, 3}, 4), options(apart));
    check_same_bits(bottlenecks, all_candidates(bottlenecks.graph));
    check_same_bits(bottlenecks, some_candidates(bottlenecks.graph, 1));
    const auto basic = training("resnet20", options(apart));
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      INFO("seed " << seed << (apart ? ", apart" : ""));
      check_same_bits(basic, some_candidates(basic.graph, seed));
    }
  }
}

TEST_CASE("graphs without fused nodes can be recomputed") {
  const auto plain = training("resnet20", {});
  check_same_bits(plain, all_candidates(plain.graph));
}

TEST_CASE("without a selection the graph is unchanged") {
  const auto plain = training("resnet20", options(false)).graph;
  const auto same = recompute(plain, TensorSet(plain.tensors.size()));
  CHECK(same.to_string() == plain.to_string());
  CHECK(same.tensors.size() == plain.tensors.size());
}

TEST_CASE("batch norm is recomputed from its saved statistics, if its result is read") {
  const auto plain = training("resnet20", options(false)).graph;
  const auto again = recomputed(plain, all_candidates(plain));
  CHECK(count(again, Op::batch_norm, Phase::forward) == 19);
  CHECK(count(again, Op::batch_norm, Phase::backward) == 0);
  CHECK(count(again, Op::conv2d, Phase::backward) == 19);
  CHECK(count(again, Op::subsample_pad, Phase::backward) == 0);
  // A block's output is kept for the next block, so only the first batch norm of each block is
  // recomputed. The last block's output is only needed by its backward pass.
  CHECK(count(again, Op::normalize, Phase::backward) == 9 + 1);
  CHECK(again.find("layer1.0.relu1.again").has_value());
  CHECK_FALSE(again.find("layer1.0.relu.again").has_value());
  CHECK(again.find("layer3.2.relu.again").has_value());
}

TEST_CASE("clones are in their unit, before the first node that reads them") {
  const auto plain = training("resnet20", options(false)).graph;
  const auto again = recomputed(plain, all_candidates(plain));
  for (std::size_t i = 0; i < again.nodes.size(); ++i) {
    const auto& node = again.nodes[i];
    if (node.phase != Phase::backward || !again[node.outputs[0]].name.ends_with(".again"))
      continue;
    const auto reader = std::find_if(
        again.nodes.begin() + static_cast<std::ptrdiff_t>(i), again.nodes.end(),
        [&](const Node& other) { return std::ranges::count(other.inputs, node.outputs[0]) > 0; });
    REQUIRE(reader != again.nodes.end());
    CHECK(reader->unit == node.unit);
    // Only other clones lie between them.
    for (auto between = again.nodes.begin() + static_cast<std::ptrdiff_t>(i); between != reader;
         ++between)
      CHECK(again[between->outputs[0]].name.ends_with(".again"));
  }
}
