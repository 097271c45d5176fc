#include "tests/nn/fused_steps.hpp"

#include "core/random.hpp"
#include "nn/builder.hpp"
#include "tests/nn/graph_runner.hpp"
#include "tests/support/initial_values.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace troupe::nn::test {

FusionSupport supports(std::function<bool(const Graph&, const Node&)> runs) {
  return {[runs = std::move(runs)](const Graph& graph, const Node& node) {
    return runs(graph, node) ? std::optional{0.0} : std::nullopt;
  }};
}

FusionSupport all_but(const Predicate& refused) {
  return supports([refused](const Graph&, const Node& node) { return !refused(node); });
}

const FusionSupport everything = supports([](const Graph&, const Node&) { return true; });

Graph forward_of(const std::string& name, std::int64_t image_size, std::int64_t batch, Stem stem) {
  ModelConfig config;
  config.name = name;
  config.stem = stem;
  const auto graph = build_model(config, {.input = image_input(image_size), .batch = batch});
  REQUIRE(graph.has_value());
  return *graph;
}

Graph small_bottlenecks() {
  GraphBuilder b;
  b.begin_unit("stem");
  const auto images = b.input("images", {4, 16, 16, 3});
  const auto labels = b.target("labels", {4}, DType::i32);
  const auto convolve = [&](const std::string& name, TensorId x, std::int64_t out,
                            const Conv2dAttributes& a) {
    return b.batch_norm(name + ".bn", b.conv2d(name, x, out, a), true);
  };
  auto x = b.relu("relu", convolve("conv", images, 8, {3, 1, 1}));
  x = b.max_pool("pool", x, {.kernel_h = 3, .kernel_w = 3, .stride = 2, .padding = 1});
  struct Block {
    std::string name;
    std::int64_t width, stride;
    bool shortcut;
  };
  for (const auto& [block, width, stride, shortcut] :
       {Block{"a", 4, 1, true}, Block{"b", 4, 1, false}, Block{"c", 6, 2, true},
        Block{"d", 6, 1, false}}) {
    b.begin_unit(block);
    const auto residual = shortcut ? convolve(block + ".down", x, 4 * width, {1, stride, 0}) : x;
    auto y = b.relu(block + ".relu1", convolve(block + ".conv1", x, width, {1, 1, 0}));
    y = b.relu(block + ".relu2", convolve(block + ".conv2", y, width, {3, stride, 1}));
    y = convolve(block + ".conv3", y, 4 * width, {1, 1, 0});
    x = b.relu(block + ".relu", b.add(block + ".add", y, residual));
  }
  b.begin_unit("head");
  const auto logits = b.linear("logits", b.flatten("flat", b.global_avg_pool("average", x)), 10);
  b.softmax_cross_entropy("loss", logits, labels, 0);
  auto graph = std::move(b).finish();
  INFO((graph ? "" : graph.error().to_string()));
  REQUIRE(graph.has_value());
  return *graph;
}

PreparedModel prepared(const Graph& forward, const FusionSupport& runs, Precision precision,
                       const PlanOptions& memory, const RecomputeConfig& recompute) {
  const auto ready = run_passes(forward, PassMode::training,
                                {.fuse = FusePatterns::all(),
                                 .precision = precision,
                                 .fuse_statistics = runs,
                                 .recompute = recompute,
                                 .memory = memory});
  INFO((ready ? "" : ready.error().to_string()));
  REQUIRE(ready.has_value());
  return *ready;
}

std::ptrdiff_t count(const Graph& graph, const Predicate& what) {
  return std::ranges::count_if(graph.nodes, what);
}

bool has(const Node& node, bool Conv2dAttributes::*flag) {
  const auto* const a = std::get_if<Conv2dAttributes>(&node.attributes);
  return a && a->*flag;
}

namespace {

constexpr float loss_scale = 256;

using Values = std::map<std::string, std::vector<float>>;

/// Returns the values of the second of two steps, which reads the running statistics of the first.
/// Gradients are unscaled.
Values values_of_step(const Graph& graph) {
  GraphRunner runner{graph};
  runner.fill();
  if (runner.has("loss_scale"))
    runner.set("loss_scale", {loss_scale});
  const auto initial = initial_values(graph, 1);
  REQUIRE(initial.has_value());
  for (const auto& tensor : *initial)
    runner.set(tensor.name, tensor.values);
  runner.run();
  runner.run();
  Values values;
  if (runner.has("logits"))
    values["logits"] = runner.get("logits");
  for (const auto role : {Role::gradient, Role::statistic, Role::output})
    for (const auto id : graph.with_role(role))
      values[graph[id].name] = runner.get(graph[id].name);
  if (runner.has("loss_scale"))
    for (const auto id : graph.with_role(Role::gradient))
      for (auto& value : values[graph[id].name])
        value /= loss_scale;
  return values;
}

} // namespace

void check_same_step(const Graph& plain, const Graph& fused, double tolerance) {
  auto expected = values_of_step(plain), got = values_of_step(fused);
  for (const auto& [name, values] : expected) {
    INFO(name);
    CHECK(relative_error(got[name], values) < tolerance);
  }
}

double distance(const Graph& graph, const Graph& exact) {
  auto got = values_of_step(graph);
  const auto expected = values_of_step(exact);
  double sum = 0;
  for (const auto& [name, values] : expected) {
    double difference = 0, norm = 1e-30;
    for (std::size_t i = 0; i < values.size(); ++i) {
      difference += std::pow(double{got[name][i]} - double{values[i]}, 2);
      norm += std::pow(double{values[i]}, 2);
    }
    sum += std::sqrt(difference / norm);
  }
  return sum / static_cast<double>(expected.size());
}

FusionSupport by_chance(std::uint64_t seed) {
  return supports([seed](const Graph& graph, const Node& node) {
    auto text = graph[node.outputs[0]].name + std::to_string(node.inputs.size()) + "/" +
                std::to_string(node.outputs.size());
    text += to_string(node.op);
    CounterRng rng{seed, stream_of(text)};
    return rng.uniform() < 0.75f;
  });
}

bool ends_block(const Node& node) {
  const auto* const a = std::get_if<Conv2dAttributes>(&node.attributes);
  return a && (a->residual != Residual::none || a->add_gradient);
}

bool finishes_end(const Node& node) {
  if (const auto* const a = std::get_if<BatchNormAttributes>(&node.attributes))
    return a->mask || a->add_gradient;
  const auto* const a = std::get_if<ScaleShiftAttributes>(&node.attributes);
  return a && a->mask;
}

const FusionSupport without_ends =
    all_but([](const Node& node) { return ends_block(node) || finishes_end(node); });

} // namespace troupe::nn::test
