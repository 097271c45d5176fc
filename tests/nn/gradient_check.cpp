#include "tests/nn/gradient_check.hpp"

#include "nn/passes/autodiff.hpp"
#include "nn/validate.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>

#include <optional>

namespace troupe::nn::test {

namespace {

/// Computes the loss in double from the f32 prediction: the rounding of an f32 loss would be larger
/// than the differences.
double loss_of(GraphRunner& runner, const std::string& prediction) {
  runner.run();
  const auto p = runner.get(prediction), t = runner.get("target");
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    sum += (double{p[i]} - double{t[i]}) * (double{p[i]} - double{t[i]});
  return sum / static_cast<double>(p.size());
}

/// Returns the side of every kink of relu and max_pool in the last run.
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

/// Computes fourth-order central differences; empty when a kink lies within the step.
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

} // namespace

Graph graph_of(const Shape& input, const AddOp& add_op) {
  GraphBuilder builder;
  builder.begin_unit("unit");
  // A 1x1 convolution or matmul makes x depend on parameters.
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

} // namespace troupe::nn::test
