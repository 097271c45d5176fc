#include "nn/compile.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

Graph training(const std::string& name, Precision precision, const InputFormat& input) {
  ModelConfig config;
  config.name = name;
  config.hidden = {6};
  const auto forward = build_model(config, {.input = image_input(8), .batch = 4});
  REQUIRE(forward.has_value());
  const auto ready =
      run_passes(*forward, PassMode::training, {.precision = precision, .input = input});
  INFO((ready ? "" : ready.error().to_string()));
  REQUIRE(ready.has_value());
  return ready->graph;
}

/// Adds channels of zeros to the pixels.
std::vector<float> padded(const std::vector<float>& images, std::size_t from, std::size_t to) {
  std::vector<float> wide(images.size() / from * to);
  for (std::size_t i = 0; i < images.size(); ++i)
    wide[i / from * to + i % from] = images[i];
  return wide;
}

void check_same_step(Precision precision) {
  const auto cast = training("resnet20", precision, {});
  const auto direct = training("resnet20", precision, {compute_type(precision), 4});
  GraphRunner a{cast}, b{direct};
  for (auto* runner : {&a, &b}) {
    runner->fill();
    if (runner->graph().find("loss_scale"))
      runner->set("loss_scale", {1.0f});
  }
  b.set("images", padded(a.get("images"), 3, 4));
  a.run();
  b.run();
  CHECK(a.get("logits") == b.get("logits"));
  for (const auto id : cast.with_role(Role::gradient))
    CHECK(a.get(cast[id].name) == b.get(cast[id].name));
}

} // namespace

TEST_CASE("images in the compute type with a fourth channel give the same step as cast ones") {
  for (const auto precision : {Precision::fp32, Precision::amp_bf16, Precision::amp_fp16}) {
    INFO(to_string(precision));
    check_same_step(precision);
  }
}

TEST_CASE("the stem's weight keeps its shape, and no node casts the images") {
  const auto graph = training("resnet20", Precision::amp_fp16, {DType::f16, 4});
  const auto& images = graph[*graph.find("images")];
  CHECK(images.dtype == DType::f16);
  CHECK(images.shape == Shape{4, 8, 8, 4});
  CHECK(graph[*graph.find("conv1.weight")].shape == Shape{16, 3, 3, 3});
  CHECK(graph.nodes.front().op == Op::conv2d);
  CHECK_FALSE(graph.find("images.f16").has_value());
}

TEST_CASE("channels are not padded if nodes other than convolutions read the images") {
  const auto graph = training("mlp", Precision::amp_bf16, {DType::bf16, 4});
  const auto& images = graph[*graph.find("images")];
  CHECK(images.dtype == DType::bf16);
  CHECK(images.shape[3] == 3);
  CHECK(input_format(graph).channels == 3);
  CHECK(input_format(training("resnet20", Precision::amp_bf16, {DType::bf16, 4})).channels == 4);
}

TEST_CASE("images of another type than the arithmetic's are refused") {
  ModelConfig config;
  config.name = "resnet20";
  const auto forward = build_model(config, {.input = image_input(8), .batch = 4});
  REQUIRE(forward.has_value());
  CHECK_FALSE(run_passes(*forward, PassMode::training, {.input = {DType::f16, 4}}).has_value());
}
