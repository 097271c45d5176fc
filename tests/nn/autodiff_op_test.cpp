// Compares the gradient of every op of image networks with finite differences.
#include "nn/passes/autodiff.hpp"
#include "tests/nn/gradient_check.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

TEST_CASE("conv2d has the right gradients for every kernel, stride and padding of the models") {
  for (const auto attributes : {Conv2dAttributes{3, 1, 1}, Conv2dAttributes{3, 2, 1},
                                Conv2dAttributes{1, 2, 0}, Conv2dAttributes{7, 2, 3}}) {
    INFO(attributes.kernel << " " << attributes.stride);
    check_gradients(graph_of({2, 7, 6, 2}, [&](GraphBuilder& b, TensorId x) {
      return b.conv2d("op", x, 3, attributes);
    }));
  }
}

TEST_CASE("batch_norm has the right gradients") {
  check_gradients(graph_of(
      {3, 2, 3, 2}, [](GraphBuilder& b, TensorId x) { return b.batch_norm("op", x, true); }));
}

TEST_CASE("batch_norm with relu and add has the right gradients") {
  for (const bool relu : {false, true})
    for (const bool add : {false, true}) {
      INFO("relu " << relu << " add " << add);
      check_gradients(graph_of({3, 2, 2, 2}, [&](GraphBuilder& b, TensorId x) {
        const auto y = b.conv2d("other", x, 2, {1, 1, 0});
        std::vector<TensorId> inputs = {
            y, b.parameter("op.weight", {2}, {}), b.parameter("op.bias", {2}, {}),
            b.statistic("op.running_mean", {2}, {}), b.statistic("op.running_var", {2}, {})};
        if (add)
          inputs.push_back(x);
        return b.apply(Op::batch_norm, "op", inputs, BatchNormAttributes{.relu = relu, .add = add},
                       {"saved_mean", "saved_inv_std"});
      }));
    }
}

TEST_CASE("layer_norm has the right gradients") {
  for (const auto& shape : {Shape{4, 5}, Shape{2, 3, 2, 4}})
    check_gradients(graph_of(shape, [](GraphBuilder& b, TensorId x) {
      const Shape columns{b.shape(x).dims.back()};
      return b.apply(
          Op::layer_norm, "op",
          {x, b.parameter("op.weight", columns, {}), b.parameter("op.bias", columns, {})},
          LayerNormAttributes{}, {"saved_mean", "saved_inv_std"});
    }));
}

TEST_CASE("relu has the right gradient") {
  check_gradients(
      graph_of({2, 3, 2, 2}, [](GraphBuilder& b, TensorId x) { return b.relu("op", x); }));
}

TEST_CASE("gelu has the right gradient, exact and by tanh") {
  for (const bool tanh : {false, true}) {
    INFO("tanh " << tanh);
    check_gradients(graph_of({2, 5}, [&](GraphBuilder& b, TensorId x) {
      return b.apply(Op::gelu, "op", {x}, GeluAttributes{tanh});
    }));
  }
}

TEST_CASE("add passes the gradient to both inputs") {
  check_gradients(graph_of({2, 2, 2, 2}, [](GraphBuilder& b, TensorId x) {
    return b.add("op", x, b.conv2d("other", x, 2, {3, 1, 1}));
  }));
}

TEST_CASE("the same tensor added to itself has twice the gradient") {
  check_gradients(
      graph_of({2, 2, 2, 2}, [](GraphBuilder& b, TensorId x) { return b.add("op", x, x); }));
}

TEST_CASE("a tensor with three readers has the sum of three gradients") {
  check_gradients(graph_of({2, 2, 2, 2}, [](GraphBuilder& b, TensorId x) {
    const auto y = b.add("first", x, b.conv2d("other", x, 2, {1, 1, 0}));
    return b.add("second", y, x);
  }));
}

TEST_CASE("a parameter with two readers has the sum of two gradients") {
  check_gradients(graph_of({4, 3}, [](GraphBuilder& b, TensorId x) {
    const auto weight = b.parameter("shared.weight", {3, 3}, {});
    return b.apply(Op::matmul, "twice", {b.apply(Op::matmul, "once", {x, weight}), weight});
  }));
}

TEST_CASE("max_pool has the right gradient") {
  for (const auto attributes :
       {PoolAttributes{2, 2, 2, 0}, PoolAttributes{3, 3, 2, 1}, PoolAttributes{3, 2, 1, 1}})
    check_gradients(graph_of({2, 5, 4, 2}, [&](GraphBuilder& b, TensorId x) {
      return b.max_pool("op", x, attributes);
    }));
}

TEST_CASE("avg_pool has the right gradient, also if padding is not counted") {
  for (const auto attributes :
       {PoolAttributes{2, 2, 2, 0}, PoolAttributes{3, 3, 2, 1}, PoolAttributes{5, 4, 1, 0}})
    check_gradients(graph_of({2, 5, 4, 2}, [&](GraphBuilder& b, TensorId x) {
      return b.avg_pool("op", x, attributes);
    }));
}

TEST_CASE("subsample_pad has the right gradient") {
  check_gradients(graph_of({2, 5, 4, 2}, [](GraphBuilder& b, TensorId x) {
    return b.subsample_pad("op", x, {.stride = 2, .pad_before = 1, .pad_after = 2});
  }));
}

TEST_CASE("matmul with its own bias has the right gradients") {
  check_gradients(graph_of({4, 3}, [](GraphBuilder& b, TensorId x) {
    return b.apply(Op::matmul, "op",
                   {x, b.parameter("op.weight", {5, 3}, {}), b.parameter("op.bias", {5}, {})});
  }));
}

TEST_CASE("softmax_cross_entropy has the right gradient, with smoothing and ignored labels") {
  for (const float smoothing : {0.0f, 0.1f}) {
    GraphBuilder builder;
    builder.begin_unit("unit");
    const auto x = builder.linear("fc", builder.input("raw", {5, 3}), 4);
    const auto labels = builder.target("labels", {5}, DType::i32);
    builder.softmax_cross_entropy("loss", x, labels, smoothing);
    const auto forward = std::move(builder).finish();
    REQUIRE(forward.has_value());
    const auto differentiated = autodiff(*forward);
    REQUIRE(differentiated.has_value());
    GraphRunner runner{*differentiated};
    runner.fill(4);
    runner.set_labels("labels", {0, -1, 3, 2, -100});
    runner.run();
    const auto gradient = runner.get("fc.bias.grad");
    const auto bias = runner.get("fc.bias");
    for (std::size_t i = 0; i < 4; ++i) {
      const auto loss_at = [&](float step) {
        auto moved = bias;
        moved[i] += step;
        runner.set("fc.bias", moved);
        runner.run();
        return double{runner.get("loss")[0]};
      };
      const double numeric = (loss_at(0.02f) - loss_at(-0.02f)) / 0.04;
      CHECK(std::abs(double{gradient[i]} - numeric) < 1e-4);
    }
  }
}

TEST_CASE("inputs that depend on no parameter get no gradient") {
  const auto graph = graph_of({2, 4, 4, 2}, [](GraphBuilder& b, TensorId x) {
    return b.conv2d("op", x, 2, {3, 1, 1});
  });
  const auto differentiated = autodiff(graph);
  REQUIRE(differentiated.has_value());
  CHECK_FALSE(differentiated->find("raw.grad").has_value());
  CHECK(differentiated->find("before.grad").has_value());
}

TEST_CASE("a graph without a loss cannot be differentiated") {
  GraphBuilder builder;
  builder.begin_unit("unit");
  builder.linear("fc", builder.input("raw", {5, 3}), 4);
  const auto forward = std::move(builder).finish();
  REQUIRE(forward.has_value());
  CHECK_FALSE(autodiff(*forward).has_value());
}
