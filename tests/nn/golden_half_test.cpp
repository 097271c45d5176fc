// Compares pure fp16 and bf16 with PyTorch's half parameters (tests/golden/record_half.py): its
// fused optimizers, and ten steps of a perceptron.
#include "core/config/config.hpp"
#include "nn/optimizer.hpp"
#include "tests/nn/engine_runner.hpp"
#include "tests/nn/golden_recipe.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

Precision precision_of_type(const nlohmann::json& golden) {
  return golden.at("type") == "f16" ? Precision::fp16 : Precision::bf16;
}

/// Returns the distance of a value to the next value of its type.
double ulp(Precision precision, double value) {
  const bool f16 = precision == Precision::fp16;
  const int exponent = std::max(std::ilogb(std::abs(value) + 1e-30), f16 ? -14 : -126);
  return std::ldexp(1.0, exponent - (f16 ? 10 : 7));
}

OptimizerConfig optimizer_config(const nlohmann::json& golden) {
  const auto& arguments = golden.at("arguments");
  return {.name = choice_named<OptimizerKind>(golden.at("name").get<std::string>()).value(),
          .lr = arguments.at("lr"),
          .momentum = arguments.value("momentum", 0.0),
          .nesterov = arguments.value("nesterov", false),
          .weight_decay = arguments.value("weight_decay", 0.0),
          .eps = arguments.value("eps", 1e-8)};
}

OptimizerArguments arguments_at(const nlohmann::json& golden, std::size_t step) {
  const auto config = optimizer_config(golden);
  const auto first = optimizer_arguments(config);
  return at_step(first, static_cast<std::int64_t>(step), config.lr);
}

/// A device with the flat buffers of one optimizer.
class OptimizerRun {
public:
  OptimizerRun(DType stored, std::vector<float> parameters)
      : stored_{stored}, parameters_{std::move(parameters)}, state0_(parameters_.size()),
        state1_(parameters_.size()) {
    device_->round(*stream_, parameters_.data(), stored_, parameters_.size());
  }

  const std::vector<float>& step(OptimizerArguments arguments, std::vector<float> gradients) {
    arguments.stored = stored_;
    device_->round(*stream_, gradients.data(), stored_, gradients.size());
    device_->optimizer_step(
        *stream_, arguments,
        {parameters_.data(), gradients.data(), state0_.data(), state1_.data(), parameters_.size()},
        nullptr, nullptr);
    REQUIRE(stream_->synchronize());
    return parameters_;
  }

private:
  std::unique_ptr<cpu::HostDevice> device_ = cpu::make_host_device(0, 1);
  std::unique_ptr<Stream> stream_ = device_->create_stream({});
  DType stored_;
  std::vector<float> parameters_, state0_, state1_;
};

/// Requires that values are within two units in the last place of PyTorch's, and that most have the
/// same bits.
void check_bits(Precision precision, const std::vector<float>& got,
                const std::vector<float>& expected) {
  REQUIRE(got.size() == expected.size());
  std::size_t same = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double wanted = double{expected[i]};
    INFO("element " << i << ": " << got[i] << ", PyTorch's " << expected[i]);
    CHECK(std::abs(double{got[i]} - wanted) <= 2 * ulp(precision, wanted));
    same += got[i] == expected[i] ? 1 : 0;
  }
  CHECK(10 * same >= 9 * got.size());
}

void check_perceptron(const nlohmann::json& golden, Engine engine) {
  const auto precision = precision_of_type(golden);
  Config config;
  config.model = {.name = "mlp", .num_classes = 10, .in_channels = 3, .hidden = {32}};
  config.data.image_size = 4;
  config.precision.mode = precision;
  const auto model = prepare_model(config, 16, PassMode::training, {.fuse = FusePatterns::all()});
  REQUIRE(model.has_value());
  EngineRunner runner{model->graph, engine, model->memory, nullptr, precision};
  runner.fill(golden_parameter);
  runner.set_batch(golden_uniform("images", 16 * 48), golden_labels(16, 10));
  const double rounding = precision == Precision::fp16 ? 0x1p-10 : 0x1p-7;
  const auto losses = golden.at("losses").get<std::vector<double>>();
  for (std::size_t step = 0; step < losses.size(); ++step) {
    INFO("step " << step);
    REQUIRE(runner.run(true).has_value());
    // Logits are rounded to the type: their error is the loss's error.
    CHECK(std::abs(double{runner.outputs()["loss"]} - losses[step]) <= rounding * losses[step]);
    runner.update(arguments_at(golden, step));
  }
  for (const auto& [name, values] : golden.at("parameters").items()) {
    INFO(name);
    // Another rounding of a sum changes single values by some units, because Adam divides by it.
    CHECK(distance(golden_samples(runner.parameter(name)), values.get<std::vector<float>>()) <=
          4 * rounding);
  }
}

} // namespace

TEST_CASE("optimizers that store f16 and bf16 match PyTorch's fused optimizers") {
  const auto all = read_golden("half.json");
  for (const auto& golden : all.at("optimizers")) {
    INFO(golden.at("name") << " " << golden.at("type") << " " << golden.at("arguments"));
    const auto precision = precision_of_type(golden);
    OptimizerRun run{stored_type(precision), golden_uniform("parameter", 32)};
    const auto expected = golden.at("parameters").get<std::vector<std::vector<float>>>();
    for (std::size_t step = 0; step < expected.size(); ++step) {
      INFO("step " << step);
      auto gradients = golden_uniform("gradient" + std::to_string(step), 32);
      for (auto& g : gradients)
        g = std::ldexp(g, -2 * static_cast<int>(step));
      check_bits(precision, run.step(arguments_at(golden, step), gradients), expected[step]);
    }
  }
}

TEST_CASE("a perceptron with f16 or bf16 parameters has PyTorch's losses") {
  const auto all = read_golden("half.json");
  for (const auto& golden : all.at("perceptrons"))
    for (const auto engine : {Engine::interpreter, Engine::fastest}) {
      INFO(golden.at("name") << " " << golden.at("type") << ", fastest "
                             << (engine == Engine::fastest));
      check_perceptron(golden, engine);
    }
}
