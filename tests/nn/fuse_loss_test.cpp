#include "nn/builder.hpp"
#include "tests/nn/fused_steps.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

Graph classifier(bool counts = true) {
  GraphBuilder b;
  b.begin_unit("all");
  const auto x = b.input("images", {6, 4, 4, 3});
  const auto labels = b.target("labels", {6}, DType::i32);
  const auto logits = b.linear("logits", b.flatten("flat", x), 10);
  b.softmax_cross_entropy("loss", logits, labels, 0.1f);
  if (counts)
    b.count_correct("correct", logits, labels);
  auto graph = std::move(b).finish();
  REQUIRE(graph.has_value());
  return *graph;
}

bool gives_gradient(const Node& node) {
  const auto* const a = std::get_if<LossAttributes>(&node.attributes);
  return node.op == Op::softmax_cross_entropy && a->gradient;
}

} // namespace

TEST_CASE("a fused loss returns its gradient and counts correct predictions") {
  const auto precision = GENERATE(Precision::fp32, Precision::amp_fp16); // with a loss scale
  const bool counts = GENERATE(true, false);
  const auto forward = classifier(counts);
  const auto plain = prepared(forward, {}, precision).graph;
  const auto fused = prepared(forward, everything, precision).graph;
  CHECK(count(fused, gives_gradient) == 1);
  CHECK(count(plain, Op::count_correct) == (counts ? 1 : 0));
  CHECK(count(fused, Op::count_correct) == 0);
  CHECK(count(fused, Op::softmax_cross_entropy_backward) == 0);
  CHECK(fused.with_role(Role::output).size() == plain.with_role(Role::output).size());
  constexpr double same_bits = 1e-30;
  check_same_step(plain, fused, same_bits);
}

TEST_CASE("a loss is not fused with its gradient if something prevents it") {
  SECTION("its probabilities are kept") {
    const auto plain = prepared(classifier(), {}).graph;
    PlanOptions memory;
    for (const auto& node : plain.nodes)
      if (node.op == Op::softmax_cross_entropy)
        memory.keep = {plain[node.outputs[1]].name};
    CHECK(count(prepared(classifier(), everything, Precision::fp32, memory).graph,
                gives_gradient) == 0);
  }
  SECTION("the device does not support it") {
    CHECK(count(prepared(classifier(), all_but(gives_gradient)).graph, gives_gradient) == 0);
  }
}
