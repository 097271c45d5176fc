// Compares loss scaling, clipping and optimizers together, step by step, with torch.amp.GradScaler:
// 200 steps with infinities and NaNs.
#include "tests/devices/test_device.hpp"
#include "tests/nn/golden_recipe.hpp"

#include <cmath>

using namespace troupe;
using namespace troupe::testing;
using nlohmann::json;
using nn::test::golden_uniform;

namespace {

constexpr std::size_t gradient_elements = 8;

OptimizerArguments arguments_of(const json& golden) {
  const auto& given = golden.at("arguments");
  return {.kind = golden.at("name") == "sgd" ? OptimizerKind::sgd : OptimizerKind::adam,
          .lr = given.at("lr"),
          .momentum = given.value("momentum", 0.0f),
          .weight_decay = given.value("weight_decay", 0.0f),
          .clip_value = golden.value("clip_value", INFINITY)};
}

LossScaleOptions options_of(const json& scaler) {
  return {.initial = scaler.at("init_scale"),
          .growth = scaler.at("growth_factor"),
          .backoff = scaler.at("backoff_factor"),
          .interval = scaler.at("growth_interval")};
}

std::vector<float> gradient_of(const json& golden, std::size_t step, float scale) {
  auto values = golden_uniform("gradient" + std::to_string(step), gradient_elements);
  for (auto& value : values)
    value *= scale;
  if (const auto planted = golden.at("planted").find(std::to_string(step));
      planted != golden.at("planted").end())
    for (const auto& [place, kind] :
         planted->get<std::vector<std::pair<std::size_t, std::string>>>())
      values[place] = std::stof(kind);
  return values;
}

/// The state of one run in device memory.
struct Replay {
  Replay(Device& on, Stream& in_order, const json& golden)
      : device{on}, stream{in_order}, arguments{arguments_of(golden)},
        options{options_of(golden.at("scaler"))}, clip_norm{golden.value("clip_norm", 0.0f)},
        scaler{device, stream, {LossScaleState{.scale = options.initial}}},
        parameters{device, stream, golden_uniform("parameter", gradient_elements)} {}

  void step(const std::vector<float>& gradient) {
    gradients.write(gradient);
    device.check_finite(stream, gradients.data(), gradient_elements, &scaler.data()->found_inf);
    if (clip_norm > 0) {
      device.zero(stream, squared_norm.data(), sizeof(double));
      device.add_squared_norm(stream, arguments, gradients.data(), gradient_elements,
                              squared_norm.data(), scaler.data());
      device.clip_factor(stream, squared_norm.data(), clip_norm, factor.data());
    }
    device.optimizer_step(
        stream, arguments,
        {parameters.data(), gradients.data(), state0.data(), state1.data(), gradient_elements},
        clip_norm > 0 ? factor.data() : nullptr, scaler.data());
    device.update_loss_scale(stream, options, scaler.data());
  }

  Device& device;
  Stream& stream;
  OptimizerArguments arguments;
  LossScaleOptions options;
  float clip_norm;
  DeviceVector<LossScaleState> scaler;
  DeviceVector<float> parameters;
  const std::vector<float> zeros = std::vector<float>(gradient_elements);
  DeviceVector<float> gradients{device, stream, zeros}, state0{device, stream, zeros},
      state1{device, stream, zeros}, factor{device, stream, {0.0f}};
  DeviceVector<double> squared_norm{device, stream, {0.0}};
};

} // namespace

TEST_CASE("200 scaled steps match GradScaler: every scale, skip and parameter") {
  const auto device = device_or_skip();
  const auto stream = device->create_stream({});
  for (const auto& golden : nn::test::read_golden("loss_scale.json")) {
    INFO(golden.at("name") << " " << golden.at("scaler"));
    Replay replay{*device, *stream, golden};
    float scale = replay.options.initial;
    auto before = replay.parameters.read();
    std::int64_t skipped = 0;
    for (std::size_t step = 0; step < golden.at("scales").size(); ++step) {
      INFO("step " << step);
      replay.step(gradient_of(golden, step, scale));
      const auto state = replay.scaler.read()[0];
      const auto parameters = replay.parameters.read();
      const bool skips = golden.at("skipped")[step];
      skipped += skips ? 1 : 0;
      REQUIRE(double{state.scale} == golden.at("scales")[step].get<double>());
      REQUIRE(state.growth_tracker == golden.at("trackers")[step].get<int>());
      REQUIRE(state.skipped == skipped);
      REQUIRE(state.taken == static_cast<std::int64_t>(step) + 1 - skipped);
      if (skips)
        REQUIRE(parameters == before); // bit for bit
      const auto expected = golden.at("parameters")[step].get<std::vector<float>>();
      for (std::size_t i = 0; i < gradient_elements; ++i)
        // Each step rounds, and this device may fuse multiplications and additions. Such errors add
        // up like a random walk: to 14 roundings in 200 steps.
        REQUIRE(std::abs(parameters[i] - expected[i]) <=
                32 * 0x1p-24f * std::max(1.0f, std::abs(expected[i])));
      scale = state.scale;
      before = parameters;
    }
  }
}
