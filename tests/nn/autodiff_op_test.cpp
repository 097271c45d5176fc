// The gradient of every op against central differences of the forward pass. The loss is the mean
// squared distance of the op's output to a target.
#include "graph_runner.hpp"

#include "troupe/nn/builder.hpp"
#include "troupe/nn/passes/autodiff.hpp"
#include "troupe/nn/validate.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <functional>
#include <optional>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

/// Adds the op under test to `x` and returns its output.
using AddOp = std::function<TensorId(GraphBuilder&, TensorId x)>;

Graph graph_of(const Shape& input, const AddOp& add_op) {
  GraphBuilder builder;
  builder.begin_unit("unit");
  // A 1x1 convolution or matmul gives x parameters to depend on.
  const auto raw = builder.input("raw", input);
  const auto x = input.rank() == 4 ? builder.conv2d("before", raw, input[3], {1, 1, 0})
                                   : builder.linear("before", raw, input[1]);
  const auto y = add_op(builder, x);
  const auto flat = builder.shape(y).rank() == 2 ? y : builder.flatten("flat", y);
  builder.mean_squared_error("loss", flat,
                             builder.target("target", builder.shape(flat), DType::f32));
  auto graph = std::move(builder).finish();
  INFO((graph ? "" : graph.error().to_string()));
  REQUIRE(graph.has_value());
  return *graph;
}

/// The loss in double, from the f32 prediction: the rounding of a f32 loss would drown differences.
double loss_of(GraphRunner& runner, const std::string& prediction) {
  runner.run();
  const auto p = runner.get(prediction), t = runner.get("target");
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    sum += (double{p[i]} - double{t[i]}) * (double{p[i]} - double{t[i]});
  return sum / static_cast<double>(p.size());
}

/// Which side of every kink of relu and max_pool the last run was on.
std::vector<float> sides(const GraphRunner& runner) {
  std::vector<float> all;
  for (const auto& node : runner.graph().nodes) {
    const auto* norm = std::get_if<BatchNormAttributes>(&node.attributes);
    const bool rectifies = node.op == Op::relu || (norm && norm->relu);
    if (rectifies)
      for (const float y : runner.get(runner.graph()[node.outputs[0]].name))
        all.push_back(y > 0 ? 1.0f : 0.0f);
    if (node.op == Op::max_pool)
      for (const float index : runner.get(runner.graph()[node.outputs[1]].name))
        all.push_back(index);
  }
  return all;
}

/// Fourth-order central differences; nothing when there is a kink within the step.
std::optional<double> numeric_gradient(GraphRunner& runner, const std::string& parameter,
                                       std::size_t i, const std::string& prediction) {
  const auto original = runner.get(parameter);
  runner.run();
  const auto here = sides(runner);
  bool smooth = true;
  const auto loss_at = [&](float step) {
    auto moved = original;
    moved[i] += step;
    runner.set(parameter, moved);
    const double loss = loss_of(runner, prediction);
    smooth = smooth && sides(runner) == here;
    return loss;
  };
  const float h = 0x1p-8f;
  const double slope =
      (8 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12 * double{h});
  runner.set(parameter, original);
  return smooth ? std::optional{slope} : std::nullopt;
}

void check_gradients(const Graph& forward) {
  const auto differentiated = autodiff(forward);
  REQUIRE(differentiated.has_value());
  const auto valid = validate(*differentiated);
  INFO((valid ? "" : valid.error().to_string()));
  REQUIRE(valid.has_value());

  std::string prediction;
  for (const auto& node : forward.nodes)
    if (node.op == Op::mean_squared_error)
      prediction = forward[node.inputs[0]].name;
  GraphRunner backward{*differentiated}, plain{forward};
  backward.fill();
  plain.fill();
  backward.run();
  std::size_t elements = 0, checked = 0;
  for (const auto id : forward.with_role(Role::parameter)) {
    const auto& name = forward[id].name;
    const auto gradient = backward.get(name + ".grad");
    auto numeric = gradient;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const auto slope = numeric_gradient(plain, name, i, prediction);
      numeric[i] = slope ? static_cast<float>(*slope) : gradient[i];
      checked += slope ? 1 : 0;
    }
    elements += gradient.size();
    INFO(name);
    CHECK(relative_error(gradient, numeric) < 2e-4);
  }
  CHECK(2 * checked > elements);
}

} // namespace

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

TEST_CASE("add passes the gradient on to both") {
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

TEST_CASE("avg_pool has the right gradient, also where padding is not counted") {
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

TEST_CASE("matmul with a bias of its own has the right gradients") {
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

TEST_CASE("nothing is differentiated that no parameter depends on") {
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
