// Compares single ops and losses on the interpreter with PyTorch's float64 results
// (tests/golden/make_golden.py).
#include "nn/builder.hpp"
#include "nn/passes/autodiff.hpp"
#include "tests/nn/golden_recipe.hpp"
#include "tests/nn/graph_runner.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <map>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

/// For sums of some hundred terms that are rounded to float32 once, at the end.
constexpr double tolerance = 1e-6;

Shape shape_of(const nlohmann::json& dims) {
  return Shape{dims.get<std::vector<std::int64_t>>()};
}

/// One node, forward or backward, on tensors that are given by name.
class OneNode {
public:
  explicit OneNode(Op op, Attributes attributes = {}) {
    graph_.units = {"unit"};
    graph_.add_node({op, {}, {}, std::move(attributes), Phase::forward, 0});
  }

  OneNode& input(const std::string& name, Shape shape, const std::vector<float>& values,
                 DType dtype = DType::f32) {
    graph_.nodes[0].inputs.push_back(
        graph_.add_tensor({name, std::move(shape), dtype, Role::input, 0}));
    values_[name] = values;
    return *this;
  }
  OneNode& output(const std::string& name, Shape shape, DType dtype = DType::f32) {
    graph_.nodes[0].outputs.push_back(
        graph_.add_tensor({name, std::move(shape), dtype, Role::activation, 0}));
    return *this;
  }
  GraphRunner run() const {
    GraphRunner runner{graph_};
    for (const auto& [name, values] : values_)
      runner.set(name, values);
    runner.run();
    return runner;
  }

private:
  Graph graph_;
  std::map<std::string, std::vector<float>> values_;
};

std::vector<float> noise_of(const char* name, const Shape& shape) {
  return golden_uniform(name, static_cast<std::size_t>(shape.elements()));
}

std::vector<float> floats(const nlohmann::json& values) {
  return values.get<std::vector<float>>();
}

} // namespace

TEST_CASE("conv2d and its gradients match PyTorch") {
  const auto cases = read_golden("ops.json");
  for (const auto& golden : cases.at("conv2d")) {
    const Conv2dAttributes a{golden.at("kernel"), golden.at("stride"), golden.at("padding")};
    INFO("kernel " << a.kernel << " stride " << a.stride);
    const auto x_shape = shape_of(golden.at("x_shape")), y_shape = shape_of(golden.at("y_shape"));
    const Shape w_shape{4, 3, a.kernel, a.kernel};
    const auto x = noise_of("x", x_shape), dy = noise_of("dy", y_shape);
    const auto weight = golden_parameter("weight", w_shape);
    CHECK(distance(OneNode{Op::conv2d, a}
                       .input("x", x_shape, x)
                       .input("w", w_shape, weight)
                       .output("y", y_shape)
                       .run()
                       .get("y"),
                   floats(golden.at("y"))) < tolerance);
    CHECK(distance(OneNode{Op::conv2d_backward_data, a}
                       .input("dy", y_shape, dy)
                       .input("w", w_shape, weight)
                       .output("dx", x_shape)
                       .run()
                       .get("dx"),
                   floats(golden.at("dx"))) < tolerance);
    CHECK(distance(OneNode{Op::conv2d_backward_weight, a}
                       .input("dy", y_shape, dy)
                       .input("x", x_shape, x)
                       .output("dw", w_shape)
                       .run()
                       .get("dw"),
                   floats(golden.at("dweights").at("weight"))) < tolerance);
  }
}

TEST_CASE("layer_norm and its gradients match PyTorch") {
  const auto golden = read_golden("ops.json").at("layer_norm");
  const LayerNormAttributes a{golden.at("eps").get<float>()};
  const Shape shape{2, 3, 7};
  const auto x = noise_of("x", shape), scale = golden_parameter("ln.weight", {7});
  const auto forward = OneNode{Op::layer_norm, a}
                           .input("x", shape, x)
                           .input("scale", {7}, scale)
                           .input("shift", {7}, golden_parameter("ln.bias", {7}))
                           .output("y", shape)
                           .output("mean", {6})
                           .output("inv_std", {6})
                           .run();
  CHECK(distance(forward.get("y"), floats(golden.at("y"))) < tolerance);
  const auto backward = OneNode{Op::layer_norm_backward, a}
                            .input("dy", shape, noise_of("dy", shape))
                            .input("x", shape, x)
                            .input("scale", {7}, scale)
                            .input("mean", {6}, forward.get("mean"))
                            .input("inv_std", {6}, forward.get("inv_std"))
                            .output("dx", shape)
                            .output("dscale", {7})
                            .output("dshift", {7})
                            .run();
  for (const auto* name : {"dx", "dscale", "dshift"})
    CHECK(distance(backward.get(name), floats(golden.at(name))) < tolerance);
}

TEST_CASE("gelu and its gradient match PyTorch, exact and by tanh") {
  auto x = golden_uniform("x", 40);
  for (auto& value : x)
    value *= 6;
  const auto cases = read_golden("ops.json");
  for (const auto& golden : cases.at("gelu")) {
    const GeluAttributes a{golden.at("tanh").get<bool>()};
    INFO("tanh " << a.tanh);
    CHECK(distance(OneNode{Op::gelu, a}.input("x", {40}, x).output("y", {40}).run().get("y"),
                   floats(golden.at("y"))) < tolerance);
    CHECK(distance(OneNode{Op::gelu_backward, a}
                       .input("dy", {40}, golden_uniform("dy", 40))
                       .input("x", {40}, x)
                       .output("dx", {40})
                       .run()
                       .get("dx"),
                   floats(golden.at("dx"))) < tolerance);
  }
}

TEST_CASE("max_pool, avg_pool and their gradients match PyTorch") {
  const auto cases = read_golden("ops.json");
  for (const auto& golden : cases.at("pool")) {
    const PoolAttributes a{golden.at("kernel").at(0), golden.at("kernel").at(1),
                           golden.at("stride"), golden.at("padding")};
    const bool max = golden.at("kind") == "max_pool";
    INFO(golden.at("kind") << " " << golden.at("kernel"));
    const auto x_shape = shape_of(golden.at("x_shape")), y_shape = shape_of(golden.at("y_shape"));
    OneNode forward{max ? Op::max_pool : Op::avg_pool, a};
    forward.input("x", x_shape, noise_of("x", x_shape)).output("y", y_shape);
    if (max)
      forward.output("index", y_shape, DType::i32);
    const auto ran = forward.run();
    CHECK(distance(ran.get("y"), floats(golden.at("y"))) < tolerance);
    OneNode backward{max ? Op::max_pool_backward : Op::avg_pool_backward, a};
    backward.input("dy", y_shape, noise_of("dy", y_shape));
    if (max)
      backward.input("index", y_shape, ran.get("index"), DType::i32);
    CHECK(distance(backward.output("dx", x_shape).run().get("dx"), floats(golden.at("dx"))) <
          tolerance);
  }
}

TEST_CASE("batch_norm, its statistics and gradients match PyTorch") {
  const auto golden = read_golden("ops.json").at("batch_norm");
  const auto shape = shape_of(golden.at("x_shape"));
  const auto scale = golden_parameter("bn.weight", {3}), shift = golden_parameter("bn.bias", {3});
  const auto ran = OneNode{Op::batch_norm, BatchNormAttributes{}}
                       .input("x", shape, noise_of("x", shape))
                       .input("scale", {3}, scale)
                       .input("shift", {3}, shift)
                       .input("mean", {3}, {0, 0, 0})
                       .input("var", {3}, {1, 1, 1})
                       .output("y", shape)
                       .output("saved_mean", {3})
                       .output("saved_inv_std", {3})
                       .run();
  CHECK(distance(ran.get("y"), floats(golden.at("y"))) < tolerance);
  CHECK(distance(ran.get("mean"), floats(golden.at("running_mean"))) < tolerance);
  CHECK(distance(ran.get("var"), floats(golden.at("running_var"))) < tolerance);
  const auto backward = OneNode{Op::batch_norm_backward, BatchNormAttributes{}}
                            .input("dy", shape, noise_of("dy", shape))
                            .input("x", shape, noise_of("x", shape))
                            .input("scale", {3}, scale)
                            .input("saved_mean", {3}, ran.get("saved_mean"))
                            .input("saved_inv_std", {3}, ran.get("saved_inv_std"))
                            .output("dx", shape)
                            .output("dscale", {3})
                            .output("dshift", {3})
                            .run();
  CHECK(distance(backward.get("dx"), floats(golden.at("dx"))) < tolerance);
  CHECK(distance(backward.get("dscale"), floats(golden.at("dweights").at("bn.weight"))) <
        tolerance);
  CHECK(distance(backward.get("dshift"), floats(golden.at("dweights").at("bn.bias"))) < tolerance);
}

TEST_CASE("cross-entropy with smoothing and ignored labels matches PyTorch") {
  auto logits = golden_uniform("logits", 30);
  for (auto& value : logits)
    value *= 4;
  const auto cases = read_golden("ops.json");
  for (const auto& golden : cases.at("cross_entropy")) {
    const LossAttributes a{golden.at("smoothing").get<float>()};
    INFO(a.label_smoothing << " " << golden.at("labels"));
    const auto labels = floats(golden.at("labels"));
    const auto ran = OneNode{Op::softmax_cross_entropy, a}
                         .input("x", {6, 5}, logits)
                         .input("labels", {6}, labels, DType::i32)
                         .output("loss", {})
                         .output("p", {6, 5})
                         .output("counted", {})
                         .run();
    CHECK(std::abs(double{ran.get("loss")[0]} - golden.at("loss").get<double>()) < tolerance);
    CHECK(ran.get("counted")[0] == static_cast<float>(std::ranges::count_if(
                                       labels, [](float label) { return label >= 0; })));
    const auto backward = OneNode{Op::softmax_cross_entropy_backward, a}
                              .input("p", {6, 5}, ran.get("p"))
                              .input("labels", {6}, labels, DType::i32)
                              .output("dx", {6, 5})
                              .run();
    CHECK(distance(backward.get("dx"), floats(golden.at("dlogits"))) < tolerance);
  }
}

TEST_CASE("the mean squared error matches PyTorch, and labels act as one-hot rows") {
  const auto golden = read_golden("ops.json").at("mean_squared_error");
  auto prediction = golden_uniform("logits", 30);
  for (auto& value : prediction)
    value *= 4;
  const auto run = [&](Op op, const Shape& shape, const std::vector<float>& target, DType dtype,
                       const Shape& result) {
    OneNode node{op, LossAttributes{}};
    node.input("x", {6, 5}, prediction).input("t", shape, target, dtype).output("result", result);
    if (op == Op::mean_squared_error)
      node.output("counted", {});
    return node.run().get("result");
  };
  const auto target = golden_uniform("target", 30);
  CHECK(std::abs(double{run(Op::mean_squared_error, {6, 5}, target, DType::f32, {})[0]} -
                 golden.at("loss").get<double>()) < 4 * tolerance); // the loss is about 4
  CHECK(distance(run(Op::mean_squared_error_backward, {6, 5}, target, DType::f32, {6, 5}),
                 floats(golden.at("dlogits"))) < tolerance);

  std::vector<float> one_hot(30);
  const std::vector<float> labels = {0, 4, 2, 1, 3, 3};
  for (std::size_t n = 0; n < 6; ++n)
    one_hot[n * 5 + static_cast<std::size_t>(labels[n])] = 1;
  for (const auto& [op, result] : {std::pair{Op::mean_squared_error, Shape{}},
                                   std::pair{Op::mean_squared_error_backward, Shape{6, 5}}})
    CHECK(run(op, {6}, labels, DType::i32, result) == run(op, {6, 5}, one_hot, DType::f32, result));
}
