#include "tests/nn/fused_steps.hpp"
#include "tests/nn/graph_runner.hpp"
#include "tests/support/initial_values.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

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

} // namespace

TEST_CASE("synchronized batch norms are not split, forward and backward") {
  const auto ready = run_passes(
      small_bottlenecks(), PassMode::training,
      {.fuse = FusePatterns::all(), .fuse_statistics = everything, .sync_batch_norm = true});
  REQUIRE(ready.has_value());
  CHECK(count(ready->graph, Op::batch_norm) == 15);
  CHECK(count(ready->graph, Op::batch_norm_backward) == 15);
  CHECK(count(ready->graph, is_synchronized) == 30);
  CHECK(count(ready->graph, Op::batch_norm_finalize) == 0);
}

TEST_CASE("nothing is fused that the device does not support") {
  const auto forward = forward_of("resnet18", 32, 2);
  const auto plain = prepared(forward, {}).graph;
  const auto refused =
      prepared(forward, supports([](const Graph&, const Node&) { return false; })).graph;
  CHECK(plain.to_string() == refused.to_string());
  CHECK(plain.tensors.size() == refused.tensors.size());
}

TEST_CASE("a bottleneck network fuses everything except its block ends") {
  const auto forward = forward_of("resnet50", 64, 2);
  const auto graph = prepared(forward, without_ends).graph;
  const auto prologue = [](const Node& node) { return has(node, &Conv2dAttributes::prologue); };
  const auto statistics = [](const Node& node) { return has(node, &Conv2dAttributes::statistics); };
  const auto reduces = [](const Node& node) {
    return has(node, &Conv2dAttributes::batch_norm_relu);
  };
  CHECK(count(graph, Op::batch_norm) == 0);
  CHECK(count(graph, statistics) == 53);
  CHECK(count(graph, Op::batch_norm_finalize) == 53);
  // Two batch norms in each of 16 blocks, each read by a convolution and its weight gradient.
  CHECK(count(graph, prologue) == 2 * 2 * 16);
  CHECK(count(graph, reduces) == 2 * 16);
  CHECK(count(graph, Op::batch_norm_input_gradient) == 2 * 16);
  // The ends of blocks, which also apply the shortcut's batch norm. The pooling applies the stem's.
  CHECK(count(graph, Op::scale_shift) == 16);
  CHECK(count(graph, [](const Node& node) {
          return node.op == Op::scale_shift && node.inputs.size() == 6;
        }) == 4);
  CHECK(count(graph, Op::batch_norm_backward) == 16 + 4 + 1);
  CHECK_FALSE(graph.find("layer1.0.relu1").has_value());
  CHECK(graph.find("layer1.0.relu").has_value());
}

TEST_CASE("training steps stay the same if everything is fused") {
  for (const auto& forward : {small_bottlenecks(), forward_of("resnet20", 16, 2, Stem::cifar)})
    check_same_step(prepared(forward, {}).graph, prepared(forward, everything).graph,
                    f32_tolerance);
}

TEST_CASE("training steps stay the same for any selection of fused nodes") {
  const auto basic = forward_of("resnet20", 8, 4, Stem::cifar), bottleneck = small_bottlenecks();
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

TEST_CASE("training steps stay the same without the pass `fuse` before") {
  const auto forward = small_bottlenecks();
  const auto apart = [&](const FusionSupport& runs) {
    PassOptions options;
    options.fuse_statistics = runs;
    const auto ready = run_passes(forward, PassMode::training, options);
    REQUIRE(ready.has_value());
    return ready->graph;
  };
  const auto fused = apart(everything);
  CHECK(count(fused, Op::batch_norm) == 0);
  check_same_step(apart({}), fused, f32_tolerance);
}

TEST_CASE("each fusion by itself keeps the step") {
  const auto forward = forward_of("resnet20", 8, 4, Stem::cifar);
  const auto plain = prepared(forward, {}).graph;
  const auto without = [&](const Predicate& refused) {
    return prepared(forward, all_but([&](const Node& node) {
                      return ends_block(node) || finishes_end(node) || refused(node);
                    }))
        .graph;
  };
  const auto has_prologue = [](const Node& node) { return has(node, &Conv2dAttributes::prologue); };

  const auto level2 = without(has_prologue);
  CHECK(count(level2, has_prologue) == 0);
  CHECK(count(level2, Op::scale_shift) == 19);
  check_same_step(plain, level2, f32_tolerance);

  // Without the weight gradient's prologue the normalized activation is still needed.
  const auto no_weight = without([&](const Node& node) {
    return node.op == Op::conv2d_backward_weight && has_prologue(node);
  });
  CHECK(count(no_weight, has_prologue) == 0);

  // The mask of a prologue's relu is computed from x.
  const auto no_reduction =
      without([](const Node& node) { return has(node, &Conv2dAttributes::batch_norm_relu); });
  CHECK(count(no_reduction, has_prologue) == 2 * 9);
  CHECK(count(no_reduction, [](const Node& node) {
          return node.op == Op::batch_norm_backward && node.inputs.size() == 7;
        }) == 9);
  check_same_step(plain, no_reduction, f32_tolerance);

  // When only one of them is possible, statistics are preferred to a prologue.
  const auto one_of_both = without([&](const Node& node) {
    return has_prologue(node) && has(node, &Conv2dAttributes::statistics);
  });
  CHECK(count(one_of_both, has_prologue) == 0);
  CHECK(count(one_of_both, Op::batch_norm) == 0);
  check_same_step(plain, one_of_both, f32_tolerance);

  const auto reduction_alone =
      prepared(forward, supports([](const Graph&, const Node& node) {
                 return !ends_block(node) && (has(node, &Conv2dAttributes::batch_norm_relu) ||
                                              node.op == Op::batch_norm_input_gradient);
               }))
          .graph;
  CHECK(count(reduction_alone, Op::batch_norm) == 19);
  CHECK(count(reduction_alone, Op::batch_norm_input_gradient) == 9);
  check_same_step(plain, reduction_alone, f32_tolerance);
}

TEST_CASE("a kept tensor is stored") {
  const auto forward = forward_of("resnet20", 8, 2, Stem::cifar);
  const auto graph =
      prepared(forward, everything, Precision::fp32, {.keep = {"layer1.0.relu1"}}).graph;
  CHECK(graph.find("layer1.0.relu1").has_value());
  CHECK_FALSE(graph.find("layer1.1.relu1").has_value());
}

TEST_CASE("a fused f16 step is as close to f32 as the f16 step") {
  const auto forward = small_bottlenecks();
  const auto plain = prepared(forward, {}, Precision::amp_fp16).graph;
  const auto fused = prepared(forward, without_ends, Precision::amp_fp16).graph;
  CHECK(fused[*fused.find("a.conv1")].dtype == DType::f16);
  CHECK(fused[*fused.find("a.conv1.sum")].dtype == DType::f32);
  const auto exact = prepared(forward, {}).graph;
  CHECK(distance(fused, exact) < 2 * distance(plain, exact));
}

TEST_CASE("initial values do not depend on which batch norms are split") {
  const auto forward = small_bottlenecks();
  const auto fused = prepared(forward, everything).graph;
  REQUIRE(count(fused, Op::batch_norm_finalize) > 0);
  check_same_values(fused, forward);
  check_same_values(prepared(forward, by_chance(3)).graph, forward);
}
