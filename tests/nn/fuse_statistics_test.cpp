#include "graph_runner.hpp"

#include "troupe/core/random.hpp"
#include "troupe/nn/builder.hpp"
#include "troupe/nn/compile.hpp"
#include "troupe/nn/initialize.hpp"
#include "troupe/nn/validate.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <functional>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

/// Whatever runs takes no time.
FusionSupport supports(std::function<bool(const Graph&, const Node&)> runs) {
  return {[runs = std::move(runs)](const Graph& graph, const Node& node) {
    return runs(graph, node) ? std::optional{0.0} : std::nullopt;
  }};
}

const FusionSupport everything = supports([](const Graph&, const Node&) { return true; });

Graph forward_of(const std::string& name, std::int64_t image_size, std::int64_t batch,
                 const char* stem = "imagenet") {
  ModelConfig config;
  config.name = name;
  config.stem = stem;
  const auto graph = build_model(config, {.input = image_input(image_size), .batch = batch});
  REQUIRE(graph.has_value());
  return *graph;
}

/// A small ResNet-50: all that its blocks have, and batch norms over 64 values and more.
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

PreparedModel prepared(const Graph& forward, const FusionSupport& runs,
                       Precision precision = Precision::fp32, const PlanOptions& memory = {}) {
  const auto ready = run_passes(forward, Purpose::training,
                                {.fuse = FusePatterns::all(),
                                 .precision = precision,
                                 .fuse_statistics = runs,
                                 .memory = memory});
  INFO((ready ? "" : ready.error().to_string()));
  REQUIRE(ready.has_value());
  return *ready;
}

std::ptrdiff_t count(const Graph& graph, const std::function<bool(const Node&)>& what) {
  return std::ranges::count_if(graph.nodes, what);
}

bool has(const Node& node, bool Conv2dAttributes::*flag) {
  const auto* const a = std::get_if<Conv2dAttributes>(&node.attributes);
  return a && a->*flag;
}

/// Two passes, as the second one sees what the first did to running statistics.
void check_same_step(const Graph& plain, const Graph& fused, double tolerance) {
  GraphRunner a{plain}, b{fused};
  const auto values = initial_values(plain, 1);
  REQUIRE(values.has_value());
  for (auto* runner : {&a, &b}) {
    runner->fill();
    if (runner->has("loss_scale"))
      runner->set("loss_scale", {256.0f});
    for (const auto& tensor : *values)
      runner->set(tensor.name, tensor.values);
    runner->run();
    runner->run();
  }
  for (const char* name : {"logits", "loss"})
    CHECK(relative_error(b.get(name), a.get(name)) < tolerance);
  for (const auto role : {Role::gradient, Role::statistic})
    for (const auto id : plain.with_role(role)) {
      const auto& name = plain[id].name;
      INFO(name);
      CHECK(relative_error(b.get(name), a.get(name)) < tolerance);
    }
}

constexpr double f32_tolerance = 1e-4;

void check_same_values(const Graph& fused, const Graph& plain) {
  const auto values = initial_values(fused, 1), expected = initial_values(plain, 1);
  INFO((values ? "" : values.error().to_string()));
  REQUIRE(values.has_value());
  REQUIRE(values->size() == expected->size());
  for (std::size_t i = 0; i < values->size(); ++i) {
    INFO((*expected)[i].name);
    CHECK((*values)[i].name == (*expected)[i].name);
    CHECK((*values)[i].values == (*expected)[i].values);
  }
}

/// Supports each node with a chance of 3 in 4, by its first output's name and what it would be.
FusionSupport by_chance(std::uint64_t seed) {
  return supports([seed](const Graph& graph, const Node& node) {
    auto text = graph[node.outputs[0]].name + std::to_string(node.inputs.size()) + "/" +
                std::to_string(node.outputs.size());
    text += to_string(node.op);
    CounterRng rng{seed, stream_of(text)};
    return rng.uniform() < 0.75f;
  });
}

} // namespace

TEST_CASE("synchronized batch norms stay whole, forward and backward") {
  const auto ready = run_passes(
      small_bottlenecks(), Purpose::training,
      {.fuse = FusePatterns::all(), .fuse_statistics = everything, .sync_batch_norm = true});
  REQUIRE(ready.has_value());
  CHECK(count(ready->graph, Op::batch_norm) == 15);
  CHECK(count(ready->graph, Op::batch_norm_backward) == 15);
  CHECK(count(ready->graph, is_synchronized) == 30);
  CHECK(count(ready->graph, Op::batch_norm_finalize) == 0);
}

TEST_CASE("nothing is fused that the device cannot run") {
  const auto forward = forward_of("resnet18", 32, 2);
  const auto plain = prepared(forward, {}).graph;
  const auto refused =
      prepared(forward, supports([](const Graph&, const Node&) { return false; })).graph;
  CHECK(plain.to_string() == refused.to_string());
  CHECK(plain.tensors.size() == refused.tensors.size());
}

TEST_CASE("a bottleneck network fuses as far as MLPerf's") {
  const auto forward = forward_of("resnet50", 64, 2);
  const auto graph = prepared(forward, everything).graph;
  const auto prologue = [](const Node& node) { return has(node, &Conv2dAttributes::prologue); };
  const auto statistics = [](const Node& node) { return has(node, &Conv2dAttributes::statistics); };
  const auto reduces = [](const Node& node) {
    return has(node, &Conv2dAttributes::batch_norm_relu);
  };
  CHECK(count(graph, Op::batch_norm) == 0);
  CHECK(count(graph, statistics) == 53);
  CHECK(count(graph, Op::batch_norm_finalize) == 53);
  // Two batch norms inside each of 16 blocks, read by a convolution and its weight gradient.
  CHECK(count(graph, prologue) == 2 * 2 * 16);
  CHECK(count(graph, reduces) == 2 * 16);
  CHECK(count(graph, Op::batch_norm_input_gradient) == 2 * 16);
  // The ends of blocks, whose shortcuts are applied on the way. The pooling applies the stem's.
  CHECK(count(graph, Op::scale_shift) == 16);
  CHECK(count(graph, [](const Node& node) {
          return node.op == Op::scale_shift && node.inputs.size() == 6;
        }) == 4);
  CHECK(count(graph, Op::batch_norm_backward) == 16 + 4 + 1);
  CHECK_FALSE(graph.find("layer1.0.relu1").has_value());
  CHECK(graph.find("layer1.0.relu").has_value());
}

TEST_CASE("training steps stay the same when all is fused") {
  for (const auto& forward : {small_bottlenecks(), forward_of("resnet20", 16, 2, "cifar")})
    check_same_step(prepared(forward, {}).graph, prepared(forward, everything).graph,
                    f32_tolerance);
}

TEST_CASE("training steps stay the same when some nodes are fused, whichever") {
  const auto basic = forward_of("resnet20", 8, 4, "cifar"), bottleneck = small_bottlenecks();
  const auto plain_basic = prepared(basic, {}).graph;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    INFO("seed " << seed);
    check_same_step(plain_basic, prepared(basic, by_chance(seed)).graph, f32_tolerance);
  }
  const auto plain_bottleneck = prepared(bottleneck, {}).graph;
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    INFO("seed " << seed);
    check_same_step(plain_bottleneck, prepared(bottleneck, by_chance(seed)).graph, f32_tolerance);
  }
}

TEST_CASE("training steps stay the same without `fuse` before") {
  const auto forward = small_bottlenecks();
  const auto apart = [&](const FusionSupport& runs) {
    PassOptions options;
    options.fuse_statistics = runs;
    const auto ready = run_passes(forward, Purpose::training, options);
    REQUIRE(ready.has_value());
    return ready->graph;
  };
  const auto fused = apart(everything);
  CHECK(count(fused, Op::batch_norm) == 0);
  check_same_step(apart({}), fused, f32_tolerance);
}

TEST_CASE("each rung of the ladder alone keeps the step") {
  const auto forward = forward_of("resnet20", 8, 4, "cifar");
  const auto plain = prepared(forward, {}).graph;
  const auto without = [&](const std::function<bool(const Node&)>& refused) {
    return prepared(forward,
                    supports([&](const Graph&, const Node& node) { return !refused(node); }))
        .graph;
  };
  const auto has_prologue = [](const Node& node) { return has(node, &Conv2dAttributes::prologue); };

  const auto level2 = without(has_prologue);
  CHECK(count(level2, has_prologue) == 0);
  CHECK(count(level2, Op::scale_shift) == 19);
  check_same_step(plain, level2, f32_tolerance);

  // Without the weight gradient's prologue the normalized activation is needed after all.
  const auto no_weight = without([&](const Node& node) {
    return node.op == Op::conv2d_backward_weight && has_prologue(node);
  });
  CHECK(count(no_weight, has_prologue) == 0);

  // The mask of a prologue's relu comes from x.
  const auto no_reduction =
      without([](const Node& node) { return has(node, &Conv2dAttributes::batch_norm_relu); });
  CHECK(count(no_reduction, has_prologue) == 2 * 9);
  CHECK(count(no_reduction, [](const Node& node) {
          return node.op == Op::batch_norm_backward && node.inputs.size() == 7;
        }) == 9);
  check_same_step(plain, no_reduction, f32_tolerance);

  // Statistics are worth more than a prologue where only one of them can be had.
  const auto one_of_both = without([&](const Node& node) {
    return has_prologue(node) && has(node, &Conv2dAttributes::statistics);
  });
  CHECK(count(one_of_both, has_prologue) == 0);
  CHECK(count(one_of_both, Op::batch_norm) == 0);
  check_same_step(plain, one_of_both, f32_tolerance);

  const auto reduction_alone = prepared(forward, supports([](const Graph&, const Node& node) {
                                          return has(node, &Conv2dAttributes::batch_norm_relu) ||
                                                 node.op == Op::batch_norm_input_gradient;
                                        }))
                                   .graph;
  CHECK(count(reduction_alone, Op::batch_norm) == 19);
  CHECK(count(reduction_alone, Op::batch_norm_input_gradient) == 9);
  check_same_step(plain, reduction_alone, f32_tolerance);
}

TEST_CASE("what is kept is stored") {
  const auto forward = forward_of("resnet20", 8, 2, "cifar");
  const auto graph =
      prepared(forward, everything, Precision::fp32, {.keep = {"layer1.0.relu1"}}).graph;
  CHECK(graph.find("layer1.0.relu1").has_value());
  CHECK_FALSE(graph.find("layer1.1.relu1").has_value());
}

TEST_CASE("a fused f16 step is the f16 step up to rounding") {
  const auto forward = small_bottlenecks();
  const auto plain = prepared(forward, {}, Precision::amp_fp16).graph;
  const auto fused = prepared(forward, everything, Precision::amp_fp16).graph;
  CHECK(fused[*fused.find("a.conv1")].dtype == DType::f16);
  CHECK(fused[*fused.find("a.conv1.sum")].dtype == DType::f32);
  check_same_step(plain, fused, 0.02);
}

TEST_CASE("a model begins with the same values, whichever of its batch norms are taken apart") {
  const auto forward = small_bottlenecks();
  const auto fused = prepared(forward, everything).graph;
  REQUIRE(count(fused, Op::batch_norm_finalize) > 0);
  check_same_values(fused, forward);
  check_same_values(prepared(forward, by_chance(3)).graph, forward);
}
