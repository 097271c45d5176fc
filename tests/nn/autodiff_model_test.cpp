// Compares the gradients of whole models with central differences along the gradient's direction.
// The loss is computed in double from the logits: the rounding of an f32 loss would be larger than
// the differences.
#include "nn/models/models.hpp"
#include "nn/passes/autodiff.hpp"
#include "nn/validate.hpp"
#include "tests/nn/graph_runner.hpp"
#include "tests/support/initial_values.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

ModelConfig model(std::string name, Stem stem = Stem::cifar) {
  ModelConfig config;
  config.name = std::move(name);
  config.stem = stem;
  if (config.name.starts_with("resnet"))
    config.width = 16;
  config.num_classes = 5;
  config.hidden = {7, 6};
  return config;
}

void load_initial_values(GraphRunner& runner) {
  runner.fill(5);
  const auto values = initial_values(runner.graph(), 3);
  REQUIRE(values.has_value());
  for (const auto& tensor : *values)
    runner.set(tensor.name, tensor.values);
}

double loss_of(const GraphRunner& runner, const ModelConfig& config) {
  const auto logits = runner.get("logits"), labels = runner.get("labels");
  const auto classes = logits.size() / labels.size();
  double loss = 0;
  for (std::size_t n = 0; n < labels.size(); ++n) {
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      const double logit = double{logits[n * classes + c]};
      const double target = static_cast<double>(c) == double{labels[n]} ? 1 : 0;
      sum += config.loss == LossKind::cross_entropy
                 ? std::exp(logit)
                 : (logit - target) * (logit - target) / static_cast<double>(classes);
    }
    const auto label = static_cast<std::size_t>(labels[n]);
    loss += config.loss == LossKind::cross_entropy
                ? std::log(sum) - double{logits[n * classes + label]}
                : sum;
  }
  return loss / static_cast<double>(labels.size());
}

/// Along the gradient the loss must rise by the gradient's squared length: one number to which
/// every element of every parameter contributes.
///
/// `h` is the expected change of the loss. A step that is too large crosses many kinks of relu; a
/// step that is too small disappears in the rounding of activations, sooner in deeper models.
void check_direction(const ModelConfig& config, std::int64_t image_size, double h,
                     double tolerance) {
  const auto forward = build_model(config, {.input = image_input(image_size), .batch = 4});
  INFO((forward ? "" : forward.error().to_string()));
  REQUIRE(forward.has_value());
  const auto differentiated = autodiff(*forward);
  REQUIRE(differentiated.has_value());
  const auto valid = validate(*differentiated);
  INFO((valid ? "" : valid.error().to_string()));
  REQUIRE(valid.has_value());

  GraphRunner backward{*differentiated}, plain{*forward};
  load_initial_values(backward);
  load_initial_values(plain);
  backward.run();
  double squared = 0;
  for (const auto id : forward->with_role(Role::parameter))
    for (const float g : backward.get((*forward)[id].name + ".grad"))
      squared += double{g} * double{g};
  REQUIRE(squared > 0);

  const auto loss_at = [&](double step) {
    for (const auto id : forward->with_role(Role::parameter)) {
      const auto& name = (*forward)[id].name;
      auto values = backward.get(name);
      const auto gradient = backward.get(name + ".grad");
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] += static_cast<float>(step * double{gradient[i]} / squared);
      plain.set(name, values);
    }
    plain.run();
    return loss_of(plain, config);
  };
  const double slope = (loss_at(h) - loss_at(-h)) / (2 * h);
  CHECK(std::abs(slope - 1) < tolerance);
}

} // namespace

TEST_CASE("the gradient of a linear model and an mlp") {
  check_direction(model("linear"), 4, 1e-4, 1e-3);
  check_direction(model("mlp"), 4, 1e-4, 1e-3);
}

TEST_CASE("the gradient of models without bias") {
  for (const auto* name : {"linear", "mlp"}) {
    auto config = model(name);
    config.bias = false;
    check_direction(config, 4, 1e-4, 1e-3);
  }
}

TEST_CASE("the gradient of a ResNet-20 on tiny images") {
  check_direction(model("resnet20"), 8, 1e-3, 1e-2);
}

TEST_CASE("the gradient of a ResNet-18 with each stem on tiny images") {
  check_direction(model("resnet18", Stem::cifar), 16, 1e-3, 1e-2);
  check_direction(model("resnet18", Stem::imagenet), 49, 1e-3, 1e-2);
}

TEST_CASE("the gradient of a model that minimizes the squared error") {
  auto config = model("mlp");
  config.loss = LossKind::mean_squared_error;
  check_direction(config, 4, 1e-4, 1e-3);
}
