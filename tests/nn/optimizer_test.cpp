#include "nn/optimizer.hpp"
#include "tests/nn/golden_recipe.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

TEST_CASE("SGD, Adam and AdamW match PyTorch's steps") {
  for (const auto& golden : read_golden("optimizers.json")) {
    const auto& arguments = golden.at("arguments");
    INFO(golden.at("name") << " " << arguments);
    OptimizerConfig config{
        .name =
            choice_named<OptimizerKind>(golden.at("name").get_ref<const std::string&>()).value(),
        .lr = golden.at("lr"),
        .momentum = arguments.value("momentum", 0.0),
        .nesterov = arguments.value("nesterov", false),
        .weight_decay = arguments.value("weight_decay", 0.0)};
    if (arguments.contains("betas"))
      config.betas = arguments.at("betas");
    config.eps = arguments.value("eps", 1e-8);
    const auto first = optimizer_arguments(config);
    auto parameters = golden_uniform("parameter", 8);
    std::vector<float> state0(8), state1(8);
    const auto expected = golden.at("parameters").get<std::vector<std::vector<float>>>();
    for (std::size_t step = 0; step < expected.size(); ++step) {
      const auto a = at_step(first, static_cast<std::int64_t>(step), config.lr);
      const auto gradients = golden_uniform("gradient" + std::to_string(step), 8);
      const auto corrections = adam_corrections(a);
      for (std::size_t i = 0; i < 8; ++i) {
        if (a.kind == OptimizerKind::sgd)
          sgd_update(a, parameters[i], gradients[i], state0[i]);
        else
          adam_update(a, corrections, parameters[i], gradients[i], state0[i], state1[i]);
        // float32 against float64: ten steps of a few roundings each.
        CHECK(std::abs(parameters[i] - expected[step][i]) < 1e-6f + 64 * 0x1p-24f);
      }
    }
  }
}

TEST_CASE("an optimizer has the amount of state that its kind needs") {
  const auto slots = [](OptimizerKind name, double momentum) {
    return optimizer_arguments({.name = name, .momentum = momentum}).state_slots();
  };
  CHECK(slots(OptimizerKind::sgd, 0) == 0);
  CHECK(slots(OptimizerKind::sgd, 0.9) == 1);
  CHECK(slots(OptimizerKind::adam, 0.9) == 2);
  CHECK(slots(OptimizerKind::adamw, 0.9) == 2);
}

TEST_CASE("steps are counted from 1, with the learning rate and the gradient scale") {
  const auto a = at_step(optimizer_arguments({}), 4, 0.25, 0.5f);
  CHECK(a.step == 5);
  CHECK(a.lr == 0.25f);
  CHECK(a.gradient_scale == 0.5f);
  CHECK(a.momentum == 0.9f);
}
