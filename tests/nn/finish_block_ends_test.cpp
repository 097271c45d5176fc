#include "tests/nn/fused_steps.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

/// Neither convolutions nor poolings are fused with their neighbours.
const FusionSupport batch_norm_alone = all_but([](const Node& node) {
  const auto* const a = std::get_if<Conv2dAttributes>(&node.attributes);
  const auto* const pool = std::get_if<PoolAttributes>(&node.attributes);
  return (a && (a->statistics || a->prologue || a->batch_norm_relu)) || (pool && pool->prologue);
});

const BatchNormAttributes* end_gradient(const Node& node) {
  const auto* const a = std::get_if<BatchNormAttributes>(&node.attributes);
  return node.op == Op::batch_norm_backward && a->relu && a->add ? a : nullptr;
}

bool reads_mask(const Node& node) {
  const auto* const a = end_gradient(node);
  return a && a->mask;
}

bool adds_gradient(const Node& node) {
  const auto* const a = end_gradient(node);
  return a && a->add_gradient;
}

bool adds_in_backward(const Node& node) {
  return node.op == Op::add && node.phase == Phase::backward;
}

} // namespace

TEST_CASE("at an unfused block end, batch norm adds gradients and reads a mask") {
  const auto precision = GENERATE(Precision::fp32, Precision::amp_bf16, Precision::amp_fp16);
  const auto forward = small_bottlenecks();
  const auto plain = prepared(forward, {}, precision).graph;
  const auto finished = prepared(forward, batch_norm_alone, precision).graph;
  CHECK(count(finished, end_gradient) == 4);
  CHECK(count(finished, reads_mask) == 4);
  CHECK(count(finished, adds_gradient) == 3); // no other gradient is added to the head's
  CHECK(count(plain, adds_in_backward) == 4);
  CHECK(count(finished, adds_in_backward) == 1); // for the stem's pooled result
  constexpr double same_bits = 1e-30;
  check_same_step(plain, finished, same_bits);
}

TEST_CASE("masks also cover results that a convolution's statistics normalized") {
  const auto forward = small_bottlenecks();
  const auto statistics = all_but([](const Node& node) {
    return has(node, &Conv2dAttributes::prologue) || has(node, &Conv2dAttributes::batch_norm_relu);
  });
  const auto finished = prepared(forward, statistics).graph;
  CHECK(count(finished, [](const Node& node) {
          const auto* const a = std::get_if<ScaleShiftAttributes>(&node.attributes);
          return a && a->mask;
        }) == 4);
  check_same_step(prepared(forward, {}).graph, finished, f32_tolerance);
}

TEST_CASE("a mask is read if a block end is fused only forward") {
  const auto forward = small_bottlenecks();
  const auto finished = prepared(forward, all_but([](const Node& node) {
                                   return node.op == Op::conv2d_backward_data &&
                                          has(node, &Conv2dAttributes::batch_norm_relu);
                                 }))
                            .graph;
  CHECK(count(finished, reads_mask) == 1); // of the last block; the convolution writes no mask
  check_same_step(prepared(forward, {}).graph, finished, f32_tolerance);
}

TEST_CASE("kept, recomputed and slower nodes are unchanged") {
  const auto forward = small_bottlenecks();
  SECTION("the sum is kept") {
    const auto plain = prepared(forward, {}).graph;
    const auto add = std::ranges::find_if(plain.nodes, adds_in_backward);
    PlanOptions memory;
    memory.keep = {plain[add->outputs[0]].name};
    const auto kept = prepared(forward, batch_norm_alone, Precision::fp32, memory).graph;
    CHECK(count(kept, adds_in_backward) == 2);
  }
  SECTION("activations are recomputed") {
    const auto again = prepared(forward, batch_norm_alone, Precision::fp32, {},
                                {.kind = RecomputeConfig::Kind::block})
                           .graph;
    CHECK(count(again, reads_mask) == 0);
  }
  SECTION("the device is slower with it") {
    const FusionSupport slow{[](const Graph&, const Node& node) -> std::optional<double> {
      if (ends_block(node))
        return std::nullopt;
      return reads_mask(node) || adds_gradient(node) ? 1.0 : 0.0;
    }};
    const auto finished = prepared(forward, slow).graph;
    CHECK(count(finished, reads_mask) + count(finished, adds_gradient) == 0);
  }
}
