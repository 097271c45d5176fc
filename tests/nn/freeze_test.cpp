// Tests that frozen parameters get no gradient when it can be avoided, and that trained parameters
// get the same gradient as without freezing.
#include "nn/learning_rates.hpp"
#include "nn/models/models.hpp"
#include "nn/passes/autodiff.hpp"
#include "nn/validate.hpp"
#include "tests/nn/fused_steps.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

using Names = std::vector<std::string>;

Graph small(const std::string& name) {
  ModelConfig config;
  config.name = name;
  config.hidden = {8, 8};
  const auto graph = build_model(config, {.input = image_input(8), .batch = 4});
  REQUIRE(graph.has_value());
  return *graph;
}

Graph differentiated(const Graph& forward, const Names& freeze) {
  auto graph = autodiff(forward, freeze);
  REQUIRE(graph.has_value());
  REQUIRE(validate(*graph));
  return *std::move(graph);
}

std::ptrdiff_t backward_nodes(const Graph& graph, std::string_view unit) {
  return std::ranges::count_if(graph.nodes, [&](const Node& node) {
    return node.phase == Phase::backward &&
           graph.units[static_cast<std::size_t>(node.unit)].starts_with(unit);
  });
}

} // namespace

TEST_CASE("units below the first trained one have no backward") {
  const auto graph = differentiated(small("resnet20"), {"stem", "layer1"});
  CHECK(backward_nodes(graph, "stem") == 0);
  CHECK(backward_nodes(graph, "layer1") == 0);
  CHECK(backward_nodes(graph, "layer2") > 0);
  CHECK_FALSE(graph.find("layer1.2.relu.grad"));
}

TEST_CASE("frozen weights between trained ones get no gradient but pass it on") {
  const auto forward = small("resnet20");
  const auto all = differentiated(forward, {}), some = differentiated(forward, {"layer2"});
  const auto convolutions = 6; // in layer2; its shortcut has no convolution
  CHECK(count(some, Op::conv2d_backward_weight) ==
        count(all, Op::conv2d_backward_weight) - convolutions);
  CHECK(count(some, Op::conv2d_backward_data) == count(all, Op::conv2d_backward_data));
}

TEST_CASE("trained parameters have the same gradient, whatever is frozen") {
  const auto [model, freeze] =
      GENERATE(table<std::string, Names>({{"resnet20", {"stem", "layer1"}},
                                          {"resnet20", {"conv1"}},
                                          {"resnet20", {"bn1", "layer1.0.bn1", "layer2.0.conv1"}},
                                          {"resnet20", {"layer2"}},
                                          {"resnet20", {"layer3", "fc"}},
                                          {"resnet20", {"stem", "layer1", "layer2", "layer3"}},
                                          {"resnet18", {"layer2.0.downsample", "layer4"}},
                                          {"mlp", {"layers.0"}},
                                          {"mlp", {"layers.1", "fc"}}}));
  CAPTURE(model, freeze);
  const auto forward = small(model);
  GraphRunner all{differentiated(forward, {})}, some{differentiated(forward, freeze)};
  for (auto* runner : {&all, &some}) {
    runner->fill(5);
    runner->run();
  }
  std::size_t trained = 0;
  for (const auto& parameter : parameter_names(forward)) {
    if (is_frozen(parameter, freeze))
      continue;
    ++trained;
    INFO(parameter.name);
    const auto gradient = std::string{parameter.name} + ".grad";
    CHECK(some.get(gradient) == all.get(gradient));
  }
  CHECK(trained > 0);
}

// Freezing changes the graphs in which batch norm is fused with convolutions.
TEST_CASE("fused steps of a partly frozen model match those of its plain graph") {
  const auto freeze = GENERATE(values<Names>({{"stem"},
                                              {"stem", "a"},
                                              {"stem", "a", "b"},
                                              {"stem", "a", "b", "c"},
                                              {"a"},
                                              {"b", "d"},
                                              {"conv"},
                                              {"conv.bn", "a.conv1", "b.conv2.bn", "d.conv3"},
                                              {"c.down", "c.conv3.bn", "logits"}}));
  CAPTURE(freeze);
  const auto forward = small_bottlenecks();
  const auto step = [&](const FusionSupport& runs, const FusePatterns& patterns) {
    const auto ready = run_passes(forward, PassMode::training,
                                  {.fuse = patterns, .fuse_statistics = runs, .freeze = freeze});
    INFO((ready ? "" : ready.error().to_string()));
    REQUIRE(ready.has_value());
    return ready->graph;
  };
  check_same_step(step({}, FusePatterns::none()), step(everything, FusePatterns::all()),
                  f32_tolerance);
}
