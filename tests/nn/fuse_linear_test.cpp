#include "nn/builder.hpp"
#include "tests/devices/op_cases.hpp"
#include "tests/nn/fused_steps.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

bool has_gelu(const Node& node) {
  const auto* const a = std::get_if<MatmulAttributes>(&node.attributes);
  return a && a->gelu;
}

/// Two linear layers with gelu between them.
testing::Body layers(bool tanh) {
  return [tanh](GraphBuilder& b, TensorId x) {
    x = b.gelu("gelu", b.linear("up", b.flatten("flat", x), 16), {.tanh = tanh});
    return b.linear("down", x, 8);
  };
}

Graph layers_with(const FusionSupport& support, const PassOptions& other = {}, bool tanh = true) {
  auto passes = other;
  passes.fuse = FusePatterns::all();
  passes.fuse_statistics = support;
  return testing::make_model({3, 2, 2, 2}, layers(tanh), passes).graph;
}

const FusionSupport only_table = supports(
    [](const Graph&, const Node& node) { return node.op == Op::share || node.op == Op::cast; });

Graph tied_model(const FusionSupport& support, Precision precision,
                 const std::vector<std::string>& keep = {}) {
  return testing::language_model(5, {.fuse = FusePatterns::all(),
                                     .precision = precision,
                                     .fuse_statistics = support,
                                     .memory = {.keep = keep}})
      .graph;
}

} // namespace

TEST_CASE("gelu is computed with the product before it, and its gradient with the one after it") {
  const auto plain = layers_with({}), fused = layers_with(everything);
  CHECK(count(fused, has_gelu) == 2);
  CHECK(count(fused, Op::gelu) == 0);
  CHECK(count(fused, Op::gelu_backward) == 0);
  CHECK(count(fused, Op::matmul) == count(plain, Op::matmul));
  CHECK(count(fused, Op::matmul_backward_data) == count(plain, Op::matmul_backward_data));
  check_same_step(plain, fused, f32_tolerance);
}

TEST_CASE("gelu in reduced precision is fused with the same rounded input") {
  const PassOptions narrow{.precision = Precision::amp_bf16};
  check_same_step(layers_with({}, narrow), layers_with(everything, narrow), 0.02);
}

TEST_CASE("gelu is not fused if something prevents it") {
  SECTION("it is not the tanh form") {
    CHECK(count(layers_with(everything, {}, false), has_gelu) == 0);
  }
  SECTION("the device does not support it") {
    CHECK(count(layers_with(all_but(has_gelu)), has_gelu) == 0);
  }
  SECTION("activations are recomputed") {
    const PassOptions recompute{.recompute = {.kind = RecomputeConfig::Kind::block}};
    CHECK(count(layers_with(everything, recompute), has_gelu) == 0);
  }
  SECTION("the gradient of its output is kept") {
    const auto fused = layers_with(everything, {.memory = {.keep = {"gelu.grad"}}});
    CHECK(count(fused, has_gelu) == 1);
    CHECK(count(fused, Op::gelu_backward) == 1);
  }
}

TEST_CASE("the gradient of a bias is summed by the product of its weight's gradient") {
  const auto plain = layers_with({}), fused = layers_with(everything);
  const auto sums_bias = [](const Node& node) {
    const auto* const a = std::get_if<MatmulAttributes>(&node.attributes);
    return a && a->bias_gradient;
  };
  CHECK(count(plain, Op::bias_backward) == 3);
  CHECK(count(fused, Op::bias_backward) == 0);
  CHECK(count(fused, sums_bias) == 3);
  CHECK(count(layers_with(all_but(sums_bias)), Op::bias_backward) == 3);
  check_same_step(plain, fused, f32_tolerance);
}

TEST_CASE("a shared table is rounded once if only a loss reads it") {
  const auto plain = tied_model({}, Precision::amp_bf16),
             fused = tied_model(only_table, Precision::amp_bf16);
  const auto is_share = [](const Node& node) {
    return node.op == Op::share && node.phase == Phase::forward;
  };
  CHECK(count(plain, is_share) == 1);
  CHECK(count(fused, is_share) == 0);
  CHECK(count(fused, Op::share) == 1); // of the gradient
  CHECK(count(fused, Op::cast) == count(plain, Op::cast) + 1);
  CHECK(count(tied_model(everything, Precision::fp32), is_share) == 1);
  CHECK(count(tied_model(everything, Precision::amp_bf16, {"wte.shared"}), is_share) == 1);
}

TEST_CASE("a loss with a rounded table has the same bits") {
  constexpr double same_bits = 1e-30;
  check_same_step(tied_model({}, Precision::amp_bf16), tied_model(only_table, Precision::amp_bf16),
                  same_bits);
}
