#include "graph_runner.hpp"

#include "troupe/nn/builder.hpp"
#include "troupe/nn/models/models.hpp"
#include "troupe/nn/passes/autocast.hpp"
#include "troupe/nn/passes/autodiff.hpp"
#include "troupe/nn/passes/scale_loss.hpp"
#include "troupe/nn/validate.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

Graph differentiated(const std::string& loss, DType compute) {
  ModelConfig config;
  config.name = "mlp";
  config.loss = loss;
  config.hidden = {6};
  auto forward = build_model(config, {.image_size = 4, .batch = 4});
  REQUIRE(forward.has_value());
  auto graph = autodiff(compute == DType::f32 ? *forward : autocast(*forward, compute));
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
  const auto graph = scale_loss(differentiated("cross_entropy", DType::f16));
  REQUIRE(validate(graph).has_value());
  const auto first_layer = [&](float scale) {
    GraphRunner runner{graph};
    runner.fill();
    // Next to nothing flows back through the classifier.
    auto weight = runner.get("fc.weight");
    for (auto& value : weight)
      value *= 1e-7f;
    runner.set("fc.weight", weight);
    runner.set("loss_scale", {scale});
    runner.run();
    return runner.get("layers.0.weight.grad");
  };
  const auto is_zero = [](float value) { return value == 0; };
  CHECK(std::ranges::all_of(first_layer(1.0f), is_zero));
  CHECK_FALSE(std::ranges::all_of(first_layer(65536.0f), is_zero));
}
