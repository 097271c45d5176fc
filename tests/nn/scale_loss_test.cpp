#include "nn/compile.hpp"
#include "nn/models/models.hpp"
#include "nn/passes/annotate.hpp"
#include "nn/passes/autodiff.hpp"
#include "nn/validate.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

Graph differentiated(LossKind loss) {
  ModelConfig config;
  config.name = "mlp";
  config.loss = loss;
  config.hidden = {6};
  auto forward = build_model(config, {.input = image_input(4), .batch = 4});
  REQUIRE(forward.has_value());
  auto graph = autodiff(*forward);
  REQUIRE(graph.has_value());
  return *graph;
}

} // namespace

TEST_CASE("the loss scale multiplies all gradients but not the loss") {
  for (const auto loss : {LossKind::cross_entropy, LossKind::mean_squared_error}) {
    INFO(to_string(loss));
    const auto plain = differentiated(loss), scaled = scale_loss(plain);
    REQUIRE(validate(scaled).has_value());
    CHECK(scaled.with_role(Role::loss_scale).size() == 1);
    GraphRunner a{plain}, b{scaled};
    a.fill();
    b.fill();
    b.set("loss_scale", {1024.0f});
    a.run();
    b.run();
    CHECK(a.get("loss") == b.get("loss"));
    for (const auto id : plain.with_role(Role::gradient)) {
      auto expected = a.get(plain[id].name);
      for (auto& value : expected)
        value *= 1024.0f; // a power of two: exact
      CHECK(b.get(plain[id].name) == expected);
    }
  }
}

TEST_CASE("the loss scale preserves gradients that f16 would flush to zero") {
  const auto forward =
      build_model({.name = "mlp", .hidden = {6}}, {.input = image_input(4), .batch = 4}).value();
  // Gradients are as small as in a batch of 2^27 samples.
  const auto first_layer = [&](Precision precision, float scale) {
    auto prepared =
        run_passes(forward, PassMode::training, {.precision = precision, .loss_rows = 0x1p27});
    REQUIRE(prepared);
    GraphRunner runner{std::move(prepared->graph)};
    runner.fill();
    if (runner.has("loss_scale"))
      runner.set("loss_scale", {scale});
    runner.run();
    auto gradient = runner.get("layers.0.weight.grad");
    for (auto& value : gradient)
      value /= scale;
    return gradient;
  };
  const auto is_zero = [](float value) { return value == 0; };
  CHECK(std::ranges::all_of(first_layer(Precision::amp_fp16, 1), is_zero));
  CHECK(std::ranges::all_of(first_layer(Precision::fp16, 1), is_zero)); // fp16 has no loss scale
  const auto exact = first_layer(Precision::fp32, 1);
  CHECK(relative_error(first_layer(Precision::amp_fp16, 65536), exact) < 0.01);
  CHECK(relative_error(first_layer(Precision::bf16, 1), exact) < 0.05); // bf16 has f32's range
}
