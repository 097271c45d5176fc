#include "graph_runner.hpp"

#include "troupe/nn/builder.hpp"
#include "troupe/nn/models/models.hpp"
#include "troupe/nn/passes/autocast.hpp"
#include "troupe/nn/passes/autodiff.hpp"
#include "troupe/nn/passes/normalize_loss.hpp"
#include "troupe/nn/passes/scale_loss.hpp"
#include "troupe/nn/validate.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

Graph differentiated(const std::string& loss, DType compute, double loss_rows = 4) {
  ModelConfig config;
  config.name = "mlp";
  config.loss = loss;
  config.hidden = {6};
  auto forward = build_model(config, {.image_size = 4, .batch = 4});
  REQUIRE(forward.has_value());
  const auto cast = compute == DType::f32 ? *forward : autocast(*forward, compute);
  auto graph = autodiff(normalize_loss(cast, loss_rows));
  REQUIRE(graph.has_value());
  return *graph;
}

} // namespace

TEST_CASE("all gradients are multiplied by the loss scale, the loss is not") {
  for (const char* loss : {"cross_entropy", "mean_squared_error"}) {
    INFO(loss);
    const auto plain = differentiated(loss, DType::f32), scaled = scale_loss(plain);
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

TEST_CASE("the loss scale rescues gradients that f16 would flush to zero") {
  // As little flows back as in a batch of 2^27 samples.
  const auto first_layer = [](DType compute, float scale) {
    const auto graph = scale_loss(differentiated("cross_entropy", compute, 0x1p27));
    REQUIRE(validate(graph).has_value());
    GraphRunner runner{graph};
    runner.fill();
    runner.set("loss_scale", {scale});
    runner.run();
    auto gradient = runner.get("layers.0.weight.grad");
    for (auto& value : gradient)
      value /= scale;
    return gradient;
  };
  const auto is_zero = [](float value) { return value == 0; };
  CHECK(std::ranges::all_of(first_layer(DType::f16, 1), is_zero));
  CHECK(relative_error(first_layer(DType::f16, 65536), first_layer(DType::f32, 1)) < 0.01);
}
