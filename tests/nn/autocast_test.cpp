#include "graph_runner.hpp"

#include "troupe/nn/builder.hpp"
#include "troupe/nn/models/models.hpp"
#include "troupe/nn/passes/autocast.hpp"
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
  const auto graph = autocast(fuse(tiny("resnet18"), FusePatterns::all()), DType::bf16);
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
  const auto graph = autodiff(autocast(tiny("resnet20"), DType::bf16));
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
  const auto exact = autodiff(forward), rounded = autodiff(autocast(forward, DType::bf16));
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

TEST_CASE("an f16 step is an f32 step up to f16's rounding, which is finer than bf16's") {
  const auto forward = tiny("resnet20");
  const auto exact = autodiff(forward), rounded = autodiff(autocast(forward, DType::f16));
  REQUIRE(exact.has_value());
  REQUIRE(rounded.has_value());
  REQUIRE(validate(*rounded).has_value());
  GraphRunner a{*exact}, b{*rounded};
  a.fill();
  b.fill();
  a.run();
  b.run();
  CHECK((*rounded)[b.id("layer1.0.conv1")].dtype == DType::f16);
  CHECK((*rounded)[b.id("layer1.0.conv1.grad")].dtype == DType::f16);
  CHECK((*rounded)[b.id("layer1.0.conv1.weight.grad")].dtype == DType::f32);
  CHECK(relative_error(b.get("logits"), a.get("logits")) < 0.0125);
  CHECK(relative_error(b.get("fc.weight.grad"), a.get("fc.weight.grad")) < 0.025);
  CHECK(relative_error(b.get("logits"), a.get("logits")) > 1e-5); // it did round
}

TEST_CASE("ops follow their input, or take the widest type") {
  GraphBuilder b;
  b.begin_unit("unit");
  const auto images = b.input("images", {2, 4, 4, 3});
  const auto labels = b.target("labels", {2}, DType::i32);
  const auto conv = b.conv2d("conv", images, 3, {3, 1, 1});
  const auto relu = b.relu("relu", conv);
  const auto norm = b.batch_norm("norm", images, true);
  const auto sum = b.add("sum", relu, norm);
  const auto logits = b.linear("fc", b.flatten("flat", sum), 3);
  b.softmax_cross_entropy("loss", logits, labels, 0);
  const auto forward = std::move(b).finish();
  REQUIRE(forward.has_value());
  const auto graph = autocast(*forward, DType::f16);
  REQUIRE(validate(graph).has_value());
  const auto type = [&](const char* name) { return graph[*graph.find(name)].dtype; };
  CHECK(type("conv") == DType::f16);
  CHECK(type("relu") == DType::f16);
  CHECK(type("norm") == DType::f32); // reads the images, which are f32
  CHECK(type("sum") == DType::f32);  // the widest
  CHECK(type("flat") == DType::f32);
  CHECK(type("fc.product") == DType::f16);
  CHECK(type("fc") == DType::f16);
  CHECK(type("loss") == DType::f32);
  CHECK(graph.find("images.f16").has_value());
  CHECK(graph.find("relu.f32").has_value());
  CHECK(std::ranges::count(graph.nodes, Op::cast, &Node::op) == 4);
}

TEST_CASE("a tensor is cast once for all that read it") {
  GraphBuilder b;
  b.begin_unit("unit");
  const auto images = b.input("images", {2, 4, 4, 3});
  const auto labels = b.target("labels", {2}, DType::i32);
  const auto left = b.conv2d("left", images, 3, {3, 1, 1});
  const auto right = b.conv2d("right", images, 3, {1, 1, 0});
  const auto logits = b.linear("fc", b.flatten("flat", b.add("sum", left, right)), 3);
  b.softmax_cross_entropy("loss", logits, labels, 0);
  b.count_correct("correct", logits, labels);
  const auto forward = std::move(b).finish();
  REQUIRE(forward.has_value());
  const auto graph = autocast(*forward, DType::bf16);
  REQUIRE(validate(graph).has_value());
  CHECK(std::ranges::count(graph.nodes, Op::cast, &Node::op) == 2); // images, logits
}
