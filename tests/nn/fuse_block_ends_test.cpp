#include "nn/builder.hpp"
#include "tests/nn/fused_steps.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

std::ptrdiff_t ends(const Graph& graph, Op op, Residual residual) {
  return count(graph, [=](const Node& node) {
    const auto* const a = std::get_if<Conv2dAttributes>(&node.attributes);
    return a && node.op == op && a->residual == residual && ends_block(node);
  });
}

bool is_forward_end(const Node& node) {
  return node.op == Op::conv2d && ends_block(node);
}

bool is_backward_end(const Node& node) {
  return node.op == Op::conv2d_backward_data && ends_block(node);
}

bool is_normalized(const Node& node) {
  const auto* const a = std::get_if<Conv2dAttributes>(&node.attributes);
  return a && a->residual == Residual::normalized;
}

bool is_plain(const Node& node) {
  const auto* const a = std::get_if<Conv2dAttributes>(&node.attributes);
  return a && a->residual == Residual::plain;
}

std::vector<Graph> networks() {
  return {small_bottlenecks(), forward_of("resnet20", 16, 2, Stem::cifar),
          forward_of("resnet18", 16, 4, Stem::cifar)};
}

/// Convolution, batch norm and ReLU, three times in each of two units.
Graph chain() {
  GraphBuilder b;
  b.begin_unit("a");
  auto x = b.input("images", {4, 8, 8, 3});
  const auto labels = b.target("labels", {4}, DType::i32);
  for (const std::string unit : {"a", "b"}) {
    if (unit == "b")
      b.begin_unit(unit);
    for (const std::string layer : {".1", ".2", ".3"}) {
      x = b.conv2d(unit + layer + ".conv", x, 8, {3, 1, 1});
      x = b.relu(unit + layer + ".relu", b.batch_norm(unit + layer + ".bn", x, true));
    }
  }
  const auto logits = b.linear("logits", b.flatten("flat", b.global_avg_pool("average", x)), 10);
  b.softmax_cross_entropy("loss", logits, labels, 0);
  auto graph = std::move(b).finish();
  REQUIRE(graph.has_value());
  return *graph;
}

} // namespace

TEST_CASE("a bottleneck network fuses block ends into the next blocks") {
  const auto graph = prepared(forward_of("resnet50", 64, 2), everything).graph;
  // Four of the sixteen ends add a batch norm; no convolution reads the last end.
  for (const auto op : {Op::conv2d, Op::conv2d_backward_data}) {
    INFO(to_string(op));
    CHECK(ends(graph, op, Residual::plain) == 11);
    CHECK(ends(graph, op, Residual::normalized) == 4);
  }
  CHECK(count(graph, Op::scale_shift) == 1);         // of the last block
  CHECK(count(graph, Op::batch_norm_backward) == 2); // of the last block and of the stem
  CHECK(count(graph, Op::batch_norm_input_gradient) == 32 + 15 + 4);
  CHECK(count(graph, Op::add) == 1); // after the stem
  CHECK(graph.find("layer1.0.relu").has_value());
}

TEST_CASE("a convolution that computes a block end replaces the end's first reader") {
  // cuDNN has no such convolution with a stride of two: the shortcut, which is the first reader.
  const auto graph = prepared(small_bottlenecks(), all_but([](const Node& node) {
                                const auto* const a =
                                    std::get_if<Conv2dAttributes>(&node.attributes);
                                return is_forward_end(node) && (a->stride != 1 || a->kernel != 1);
                              }))
                         .graph;
  const auto position = [&](const char* name) {
    return std::ranges::find_if(
               graph.nodes, [&](const Node& node) { return graph[node.outputs[0]].name == name; }) -
           graph.nodes.begin();
  };
  CHECK(ends(graph, Op::conv2d, Residual::plain) + ends(graph, Op::conv2d, Residual::normalized) ==
        3);
  CHECK(position("c.conv1") < position("c.down"));
  CHECK(graph.nodes[static_cast<std::size_t>(position("c.conv1"))].outputs.back() ==
        *graph.find("b.relu"));
}

TEST_CASE("a step is the same when block ends are fused, in both directions or one", "[long]") {
  for (const auto& forward : networks()) {
    const auto plain = prepared(forward, {}).graph;
    for (const auto& support :
         {everything, all_but(is_forward_end), all_but(is_backward_end), all_but(is_normalized),
          all_but(is_plain), all_but([](const Node& node) {
            return has(node, &Conv2dAttributes::batch_norm_relu) && !ends_block(node);
          })}) {
      const auto joined = prepared(forward, support).graph;
      CHECK(count(joined, ends_block) > 0);
      check_same_step(plain, joined, f32_tolerance);
    }
  }
}

TEST_CASE("a step in f16 is as close to f32 as without fused block ends") {
  const auto forward = small_bottlenecks();
  const auto joined = prepared(forward, everything, Precision::amp_fp16).graph;
  CHECK(count(joined, ends_block) == 6);
  const auto exact = prepared(forward, {}).graph;
  const auto apart = distance(prepared(forward, {}, Precision::amp_fp16).graph, exact);
  CHECK(apart < 0.1);
  CHECK(distance(joined, exact) < 2 * apart);
}

TEST_CASE("gradients of a batch norm without residual cross units") {
  // A convolution and the first shortcut read the stem of CIFAR's networks.
  const auto graph = prepared(forward_of("resnet20", 8, 4, Stem::cifar), everything).graph;
  CHECK(ends(graph, Op::conv2d_backward_data, Residual::none) == 1);
}

TEST_CASE("a batch norm between two units is split like those within a unit") {
  const auto forward = chain();
  const auto plain = prepared(forward, {}).graph;
  for (const auto precision : {Precision::fp32, Precision::amp_fp16}) {
    const auto graph = prepared(forward, everything, precision).graph;
    CHECK(count(graph, Op::batch_norm_backward) == 1); // the last one, before a pool
    CHECK(count(graph, Op::batch_norm_input_gradient) == 5);
    CHECK(count(graph, [](const Node& node) {
            const auto* const a = std::get_if<FinalizeAttributes>(&node.attributes);
            return a && a->also_f32;
          }) == 0);
    CHECK(distance(graph, plain) < (precision == Precision::fp32 ? f32_tolerance : 0.1));
  }
}

TEST_CASE("a convolution's unit reads copies of scale and shift, and returns sums to copy") {
  const auto graph = prepared(small_bottlenecks(), everything).graph;
  for (const auto& node : graph.nodes)
    if (node.op == Op::conv2d_backward_data && ends_block(node))
      for (std::size_t i = 2; i < node.inputs.size(); ++i)
        CHECK(graph[node.inputs[i]].role == Role::activation);
  const auto passes_on = [](const Node& node) {
    return node.op == Op::batch_norm_input_gradient && node.inputs.size() == 7;
  };
  CHECK(count(graph, passes_on) == 3 + 2);
}

TEST_CASE("factor and offset have the type of their readers") {
  const auto forward = small_bottlenecks();
  const auto finalizes = [&](const FusionSupport& support, const Predicate& what) {
    return count(prepared(forward, support, Precision::amp_fp16).graph, [&](const Node& node) {
      return node.op == Op::batch_norm_finalize && what(node);
    });
  };
  const auto attributes = [](const Node& node) {
    return std::get<FinalizeAttributes>(node.attributes);
  };
  const auto narrow = [&](const Node& node) { return attributes(node).type == DType::f16; };
  const auto both = [&](const Node& node) { return attributes(node).also_f32; };
  // Two in each of four blocks, one for each of three block ends, and one for each of their two
  // shortcuts.
  CHECK(finalizes(everything, narrow) == 8 + 3 + 2);
  CHECK(finalizes(everything, both) == 0);
  // Masks are computed from f32 when no convolution writes them.
  const auto no_sums =
      all_but([](const Node& node) { return has(node, &Conv2dAttributes::batch_norm_relu); });
  CHECK(finalizes(no_sums, both) == 8);
}

TEST_CASE("a kept gradient is computed as before") {
  const auto forward = small_bottlenecks();
  const auto joined = [&](const char* kept) {
    return ends(prepared(forward, everything, Precision::fp32, {.keep = {kept}}).graph,
                Op::conv2d_backward_data, Residual::plain);
  };
  CHECK(joined("b.relu") == 1);
  CHECK(joined("b.relu.grad") == 0);
}

TEST_CASE("block ends are not fused if activations are recomputed") {
  using Kind = RecomputeConfig::Kind;
  const auto forward = small_bottlenecks();
  const auto joined = [&](const RecomputeConfig& recompute) {
    return count(prepared(forward, everything, Precision::fp32, {}, recompute).graph, ends_block);
  };
  const auto bytes = prepared(forward, everything).memory.arena_bytes;
  CHECK(joined({.kind = Kind::block}) == 0);
  CHECK(joined({.kind = Kind::fit, .fit_bytes = bytes}) == 6);
  CHECK(joined({.kind = Kind::fit, .fit_bytes = bytes * 15 / 16}) == 0);
}
