#include "core/config/config.hpp"
#include "nn/builder.hpp"
#include "nn/compile.hpp"
#include "nn/models/models.hpp"
#include "nn/passes/autocast.hpp"
#include "nn/passes/autodiff.hpp"
#include "nn/passes/fuse.hpp"
#include "nn/validate.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

Graph four_small_images(const std::string& name) {
  ModelConfig config;
  config.name = name;
  const auto graph = build_model(config, {.input = image_input(8), .batch = 4});
  REQUIRE(graph.has_value());
  return *graph;
}

DType type_of(const Graph& graph, const char* name) {
  INFO(name);
  const auto id = graph.find(name);
  REQUIRE(id.has_value());
  return graph[*id].dtype;
}

} // namespace

TEST_CASE("activations become bf16, while parameters, statistics and the loss stay f32") {
  const auto graph =
      fuse(autocast(four_small_images("resnet18"), DType::bf16), FusePatterns::all());
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

TEST_CASE("gradients of activations are bf16, and those of parameters are f32") {
  const auto graph = autodiff(autocast(four_small_images("resnet20"), DType::bf16));
  REQUIRE(graph.has_value());
  const auto valid = validate(*graph);
  INFO((valid ? "" : valid.error().to_string()));
  REQUIRE(valid.has_value());
  for (const auto id : graph->with_role(Role::gradient))
    CHECK((*graph)[id].dtype == DType::f32);
  CHECK((*graph)[*graph->find("layer1.0.conv1.grad")].dtype == DType::bf16);
  CHECK((*graph)[*graph->find("logits.grad")].dtype == DType::bf16);
}

TEST_CASE("a bf16 step equals an f32 step up to bf16's rounding") {
  const auto forward = four_small_images("resnet20");
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
  CHECK(relative_error(b.get("logits"), a.get("logits")) > 1e-4); // values were rounded
}

TEST_CASE("an f16 step equals an f32 step up to f16's rounding, which is finer than bf16's") {
  const auto forward = four_small_images("resnet20");
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
  CHECK(relative_error(b.get("logits"), a.get("logits")) > 1e-5); // values were rounded
}

TEST_CASE("ops use the type of their input or the widest type") {
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
  CHECK(type("sum") == DType::f32);  // the widest type
  CHECK(type("flat") == DType::f32);
  CHECK(type("fc.product") == DType::f16);
  CHECK(type("fc") == DType::f16);
  CHECK(type("loss") == DType::f32);
  CHECK(graph.find("images.f16").has_value());
  CHECK(graph.find("relu.f32").has_value());
  CHECK(std::ranges::count(graph.nodes, Op::cast, &Node::op) == 4);
}

TEST_CASE("a tensor is cast once for all its readers") {
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

TEST_CASE("with autocast off everything is f32, and inputs are cast") {
  const auto graph = autocast(four_small_images("resnet20"), DType::f16, {"layer1.1", "fc"});
  REQUIRE(validate(graph).has_value());
  for (const auto* name :
       {"layer1.1.conv1", "layer1.1.bn1", "layer1.1.relu1", "layer1.1.conv2", "layer1.1.bn2",
        "layer1.1.add", "layer1.1.relu", "layer1.0.relu.f32", "fc.product", "logits"})
    CHECK(type_of(graph, name) == DType::f32);
  for (const auto* name : {"layer1.0.relu", "layer1.2.conv1", "layer1.1.relu.f16"})
    CHECK(type_of(graph, name) == DType::f16);
  // The result is f32, and wider than the residuals that are added to it from here on.
  CHECK(type_of(graph, "layer1.2.add") == DType::f32);
  CHECK(type_of(graph, "flatten") == DType::f32);
  CHECK_FALSE(graph.find("logits.f32").has_value());
}

TEST_CASE("autocast can be on again within a region where it is off") {
  const auto graph = autocast(four_small_images("resnet20"), DType::bf16,
                              {"layer2", "-layer2.1", "layer2.1.conv2"});
  REQUIRE(validate(graph).has_value());
  CHECK(type_of(graph, "layer2.0.conv1") == DType::f32);
  CHECK(type_of(graph, "layer2.1.conv1") == DType::bf16);
  CHECK(type_of(graph, "layer2.1.bn1") == DType::bf16);
  CHECK(type_of(graph, "layer2.1.conv2") == DType::f32);
  CHECK(type_of(graph, "layer2.2.conv1") == DType::f32);
  CHECK(type_of(graph, "layer3.0.conv1") == DType::bf16);
}

TEST_CASE("with autocast off everywhere the graph is unchanged") {
  const auto forward = four_small_images("resnet20");
  const auto graph =
      autocast(forward, DType::f16,
               {"conv1", "bn1", "relu", "layer1", "layer2", "layer3", "avgpool", "flatten", "fc"});
  CHECK(graph.to_string() == forward.to_string());
}

TEST_CASE("a batch norm, an addition and a relu in different regions are not fused") {
  const PassOptions apart{.fuse = FusePatterns::all(),
                          .precision = Precision::amp_bf16,
                          .autocast_off = {"layer1.0.add"}};
  const auto prepared = run_passes(four_small_images("resnet20"), PassMode::training, apart);
  REQUIRE(prepared.has_value());
  const auto& graph = prepared->graph;
  CHECK(type_of(graph, "layer1.0.bn2") == DType::bf16);
  CHECK(type_of(graph, "layer1.0.add") == DType::f32);
  CHECK(type_of(graph, "layer1.0.relu") == DType::f32);
  // Backward casts the sum's gradient down once, for both added tensors.
  const auto casts = [&](Phase phase) {
    return std::ranges::count_if(graph.nodes, [&](const Node& node) {
      return node.op == Op::cast && node.phase == phase && node.unit == graph.nodes[0].unit + 1;
    });
  };
  CHECK(casts(Phase::forward) == 2);
  CHECK(casts(Phase::backward) == 1);
}

TEST_CASE("a region in f32 brings a step closer to f32") {
  const auto forward = four_small_images("resnet20");
  const auto run = [&](const PassOptions& options) {
    const auto prepared = run_passes(forward, PassMode::training, options);
    REQUIRE(prepared.has_value());
    GraphRunner runner{prepared->graph};
    runner.fill();
    runner.run();
    return runner.get("logits");
  };
  const auto exact = run({});
  const auto all = relative_error(run({.precision = Precision::amp_bf16}), exact);
  const auto some = relative_error(
      run({.precision = Precision::amp_bf16, .autocast_off = {"conv1", "layer1", "layer2"}}),
      exact);
  CHECK(some < all / 1.5);
  CHECK(some > 0);
}

TEST_CASE("entries that match nothing or have no effect are conflicts") {
  const auto forward = four_small_images("resnet20");
  const auto what = [&](const AutocastRegions& off) {
    const auto found = find_conflicts(off, forward);
    REQUIRE(found.size() == 1);
    CHECK(found[0].keys.front() == "model.autocast_off");
    return found[0].what + "; " + found[0].suggestion;
  };
  CHECK(find_conflicts({"layer1", "-layer1.0", "layer1.0.bn1", "fc"}, forward).empty());
  CHECK(what({"layr1.0"}) == "the model has no module \"layr1.0\"; layer1.0");
  CHECK(what({"layer1", "-layer1.0.cnv1"}) ==
        "the model has no module \"layer1.0.cnv1\"; layer1.0.conv1");
  CHECK(what({""}) == "the model has no module \"\"; ");
  CHECK(what({"fc", "fc"}) == "fc is listed twice; ");
  CHECK(what({"fc", "-fc"}) == "fc is listed twice; ");
  CHECK(what({"-fc"}) == "autocast is already on around fc; ");
  CHECK(what({"layer1", "layer1.0"}) == "autocast is already off around layer1.0; ");
  const auto prepared = run_passes(forward, PassMode::training, {.autocast_off = {"layr1"}});
  REQUIRE_FALSE(prepared.has_value());
  CHECK(prepared.error().code == Errc::invalid_input);
}

TEST_CASE("images have the compute type unless autocast is off for their reader") {
  Config config;
  config.model.name = "resnet20";
  CHECK(image_type(config) == DType::f32);
  config.precision.mode = Precision::amp_fp16;
  CHECK(image_type(config) == DType::f16);
  config.model.autocast_off = {"layer1"};
  CHECK(image_type(config) == DType::f16);
  config.model.autocast_off = {"conv1"};
  CHECK(image_type(config) == DType::f32);
  config.model.name = "mlp"; // its first layer reads the images after flatten
  config.model.autocast_off = {"layers.0"};
  CHECK(image_type(config) == DType::f32);
}
