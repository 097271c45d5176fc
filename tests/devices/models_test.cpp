// Compares whole models on a device with the interpreter.
#include "nn/compile.hpp"
#include "tests/devices/compare.hpp"
#include "tests/devices/networks.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Residual networks with 16 channels in the first stage.
Graph model(const std::string& name, std::int64_t size, std::int64_t batch) {
  ModelConfig config;
  config.name = name;
  if (name != "mlp")
    config.width = 16;
  auto graph = nn::build_model(config, {.input = nn::image_input(size), .batch = batch});
  if (!graph)
    FAIL(graph.error().to_string());
  return std::move(*graph);
}

/// Prepares a model as a device's job does.
nn::PreparedModel prepare(const Graph& forward, Precision precision,
                          const nn::AutocastRegions& off = {},
                          const RecomputeConfig& recompute = {}) {
  nn::PassOptions passes{.fuse = nn::FusePatterns::all(),
                         .precision = precision,
                         .autocast_off = off,
                         .recompute = recompute,
                         .memory = {.alignment = 256}};
  passes.memory.also_in_place.push_back(Op::batch_norm_backward);
  if (const auto channels = test_traits().image_channels; channels > 0)
    passes.input = {compute_type(precision), channels};
  auto prepared = nn::run_passes(forward, nn::PassMode::training, passes);
  if (!prepared)
    FAIL(prepared.error().to_string());
  return std::move(*prepared);
}

/// Compares one pass, tensor by tensor.
void check_pass(const Graph& forward, Depth depth, const nn::AutocastRegions& off = {}) {
  const auto device = device_or_skip();
  for (const auto precision : test_traits().precisions) {
    INFO(to_string(precision));
    const auto prepared = prepare(forward, precision, off);
    const auto options = options_for(precision);
    require_same_pass(run_graph(*device, prepared.graph, options),
                      run_reference(prepared.graph, options), precision, depth);
  }
}

/// Compares ten steps of SGD as in training: two batches, planned memory, whole passes.
void check_steps(const Graph& forward, Depth depth) {
  const auto device = device_or_skip();
  for (const auto precision : test_traits().precisions) {
    INFO(to_string(precision));
    const auto prepared = prepare(forward, precision);
    auto options = options_for(precision);
    Steps steps{.count = 10, .batches = 2, .learn = true};
    const auto reference = run_reference(prepared.graph, options, steps);
    options.memory = prepared.memory;
    steps.whole = true;
    const auto got = run_graph(*device, prepared.graph, options, steps);
    REQUIRE(reference.losses().back() < reference.losses()[1]); // losses of one batch
    require_same_losses(got, reference, precision, depth);
  }
}

} // namespace

TEST_CASE("ResNet-20: every activation and gradient matches the interpreter") {
  check_pass(model("resnet20", 16, 4), Depth::deep);
}

TEST_CASE("bottleneck blocks: every activation and gradient matches the interpreter") {
  check_pass(bottleneck_network({8, 32, 32, 3}, 8), Depth::deep);
}

TEST_CASE("ResNet-20 with regions in f32: every activation and gradient matches the interpreter") {
  check_pass(model("resnet20", 16, 4), Depth::deep,
             {"bn1", "layer1.0", "-layer1.0.conv2", "layer2.1.add", "layer3", "-layer3.1", "fc"});
}

TEST_CASE("a perceptron: every activation and gradient matches the interpreter") {
  check_pass(model("mlp", 16, 16), Depth::shallow);
}

TEST_CASE("ResNet-20: ten steps with the interpreter's losses") {
  check_steps(model("resnet20", 8, 8), Depth::deep);
}

TEST_CASE("bottleneck blocks: ten steps with the interpreter's losses") {
  check_steps(bottleneck_network({8, 32, 32, 3}, 8), Depth::deep);
}

TEST_CASE("a perceptron: ten steps with the interpreter's losses") {
  check_steps(model("mlp", 8, 16), Depth::shallow);
}

TEST_CASE("recomputed activations do not change a bit of five steps") {
  const bool bottlenecks = GENERATE(false, true);
  const auto device = device_or_skip();
  for (const auto precision : test_traits().precisions) {
    INFO((bottlenecks ? "bottlenecks, " : "ResNet-20, ") << to_string(precision));
    const auto forward =
        bottlenecks ? bottleneck_network({2, 72, 72, 3}, 16) : model("resnet20", 32, 4);
    const auto plain = prepare(forward, precision),
               again = prepare(forward, precision, {}, {.kind = RecomputeConfig::Kind::block});
    REQUIRE(again.memory.arena_bytes < plain.memory.arena_bytes);
    auto options = options_for(precision);
    const Steps steps{.count = 5, .batches = 2, .whole = true, .learn = true};
    options.memory = plain.memory;
    const auto expected = run_graph(*device, plain.graph, options, steps);
    options.memory = again.memory;
    const auto got = run_graph(*device, again.graph, options, steps);
    if (!test_traits().same_kernels) {
      require_same_losses(got, expected, precision, Depth::deep);
      continue;
    }
    REQUIRE(got.raw_gradients == expected.raw_gradients);
    REQUIRE(got.parameters == expected.parameters);
    REQUIRE(got.statistics == expected.statistics);
    REQUIRE(got.losses() == expected.losses());
  }
}

TEST_CASE("the memory plan does not change a bit, nor does a second run") {
  const bool bottlenecks = GENERATE(false, true);
  const auto device = device_or_skip();
  for (const auto precision : test_traits().precisions) {
    INFO((bottlenecks ? "bottlenecks, " : "ResNet-20, ") << to_string(precision));
    const auto prepared = prepare(
        bottlenecks ? bottleneck_network({4, 32, 32, 3}, 16) : model("resnet20", 32, 4), precision);
    auto options = options_for(precision);
    const auto apart = run_graph(*device, prepared.graph, options, {.count = 2});
    options.memory = prepared.memory;
    GraphRun planned{*device, prepared.graph, options};
    auto first = planned({.count = 2});
    const auto again = planned({.count = 2});
    if (test_traits().same_kernels)
      REQUIRE(first.raw_gradients == apart.raw_gradients);
    REQUIRE(again.raw_gradients == first.raw_gradients);
    REQUIRE(again.losses() == first.losses());
    first.activations = apart.activations; // overwritten by later ops
    first.indices = apart.indices;
    require_same_pass(first, apart, precision, Depth::deep);
  }
}
