#include "graph_runner.hpp"

#include "troupe/cpu/interpreter/operands.hpp"
#include "troupe/nn/models/models.hpp"
#include "troupe/nn/passes/autocast_bf16.hpp"
#include "troupe/nn/passes/autodiff.hpp"
#include "troupe/nn/passes/fuse.hpp"
#include "troupe/nn/validate.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

Graph tiny(const std::string& name) {
  ModelConfig config;
  config.name = name;
  const auto graph = build_model(config, {.image_size = 8, .batch = 4});
  REQUIRE(graph.has_value());
  return *graph;
}

} // namespace

TEST_CASE("activations become bf16, parameters and statistics and the loss stay f32") {
  const auto graph = autocast_bf16(fuse(tiny("resnet18"), FusePatterns::all()));
  REQUIRE(validate(graph).has_value());
  for (const auto& tensor : graph.tensors) {
    INFO(tensor.name);
    const bool f32 = tensor.role != Role::activation || tensor.name == "logits.f32" ||
                     tensor.name.ends_with(".saved_mean") ||
                     tensor.name.ends_with(".saved_inv_std") || tensor.name == "loss.probabilities";
    CHECK((tensor.dtype == DType::bf16) == !f32);
  }
  CHECK(std::ranges::count(graph.nodes, Op::cast, &Node::op) == 2);
  CHECK(graph.nodes.front().op == Op::cast);
}

TEST_CASE("gradients of activations are bf16, those of parameters f32") {
  const auto graph = autodiff(autocast_bf16(tiny("resnet20")));
  REQUIRE(graph.has_value());
  const auto valid = validate(*graph);
  INFO((valid ? "" : valid.error().to_string()));
  REQUIRE(valid.has_value());
  for (const auto id : graph->with_role(Role::gradient))
    CHECK((*graph)[id].dtype == DType::f32);
  CHECK((*graph)[*graph->find("layer1.0.conv1.grad")].dtype == DType::bf16);
  CHECK((*graph)[*graph->find("logits.grad")].dtype == DType::bf16);
}

TEST_CASE("a bf16 step is an f32 step up to bf16's rounding") {
  const auto forward = tiny("resnet20");
  const auto exact = autodiff(forward), rounded = autodiff(autocast_bf16(forward));
  REQUIRE(exact.has_value());
  REQUIRE(rounded.has_value());
  GraphRunner a{*exact}, b{*rounded};
  a.fill();
  b.fill();
  a.run();
  b.run();
  // Twenty layers, each rounding to 2^-9 of a value.
  CHECK(relative_error(b.get("logits"), a.get("logits")) < 0.1);
  CHECK(std::abs(b.get("loss")[0] - a.get("loss")[0]) < 0.1f * a.get("loss")[0]);
  CHECK(relative_error(b.get("fc.weight.grad"), a.get("fc.weight.grad")) < 0.2);
  CHECK(relative_error(b.get("logits"), a.get("logits")) > 1e-4); // it did round
}

TEST_CASE("bf16 rounds to nearest, ties to even") {
  using cpu::bf16_from_float;
  CHECK(bf16_from_float(1.0f) == 0x3f80);
  CHECK(bf16_from_float(1.0f + 0x1p-8f) == 0x3f80);            // a tie: to even
  CHECK(bf16_from_float(1.0f + 0x1p-8f + 0x1p-20f) == 0x3f81); // above
  CHECK(bf16_from_float(1.0f + 0x3p-8f) == 0x3f82);            // a tie: to even
  CHECK(bf16_from_float(3.4e38f) == 0x7f80);                   // overflows to infinity
  CHECK(bf16_from_float(-INFINITY) == 0xff80);
  CHECK(std::isnan(cpu::float_from_bf16(bf16_from_float(NAN))));
}
