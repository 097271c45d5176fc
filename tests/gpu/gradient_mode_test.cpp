// Tests passes that add to the gradients of earlier passes.
#include "gpu/alignment.hpp"
#include "gpu/lowering/fusion.hpp"
#include "nn/compile.hpp"
#include "tests/devices/compare.hpp"
#include "tests/devices/networks.hpp"
#include "tests/gpu/fusion_support.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::testing;

namespace {

Graph language_model(const char* name) {
  ModelConfig config;
  config.name = name;
  config.layers = 2;
  config.width = 32;
  config.heads = 2;
  const nn::InputSpec tokens{.name = "tokens", .sample = {40}, .vocabulary = 30};
  auto graph = nn::build_model(config, {.input = tokens, .batch = 2});
  REQUIRE(graph);
  return std::move(*graph);
}

/// Applies every fusion that runs: it decides which steps write gradients.
nn::PreparedModel prepare(Device& device, const Graph& forward, Precision precision) {
  auto& cuda = static_cast<gpu::CudaDevice&>(device);
  nn::PassOptions passes{.fuse = nn::FusePatterns::all(),
                         .precision = precision,
                         .memory = {.alignment = gpu::tensor_alignment}};
  if (compute_type(precision) != DType::f32)
    passes.fuse_statistics = wherever_it_runs(
        gpu::fusion_times(cuda, gpu::DeviceRates::of_device(0).value(), gpu::policy_of({})));
  auto model = nn::run_passes(forward, nn::PassMode::training, passes);
  REQUIRE(model);
  return std::move(*model);
}

std::vector<float> gradients(Device& device, const nn::PreparedModel& model, Precision precision,
                             const Steps& steps) {
  auto options = options_for(precision, model.memory);
  options.compile = [](Device& on, const Graph& graph, const CompileOptions& with) {
    auto adding = with;
    adding.adds_gradients = true;
    return on.compile(graph, adding);
  };
  return run_graph(device, model.graph, options, steps).raw_gradients;
}

/// Checks the sum of passes over two batches in turn. A library may round it elsewhere.
void require_sum(Device& device, const Graph& forward, Precision precision, const Steps& steps) {
  const auto model = prepare(device, forward, precision);
  const auto a = gradients(device, model, precision, {.count = 1, .batches = 2}),
             b = gradients(device, model, precision, {.count = 2, .batches = 2}),
             sum = gradients(device, model, precision, steps);
  REQUIRE(a.size() == sum.size());
  REQUIRE(a != b);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    float expected = a[i], magnitude = std::abs(a[i]);
    for (int step = 1; step < steps.count; ++step) {
      expected += step % 2 == 1 ? b[i] : a[i];
      magnitude += std::abs(step % 2 == 1 ? b[i] : a[i]);
    }
    wrong += std::abs(sum[i] - expected) <= 1e-5f * magnitude ? 0 : 1;
  }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("later passes add their gradients: convolutions and batch norms") {
  const auto device = device_or_skip();
  const auto precision = GENERATE(Precision::fp32, Precision::amp_fp16);
  CAPTURE(to_string(precision));
  require_sum(*device, bottleneck_network({2, 32, 32, 3}, 64), precision,
              {.count = 2, .batches = 2, .adds = true});
}

TEST_CASE("later passes add their gradients: language models") {
  const auto device = device_or_skip();
  const std::string model = GENERATE("gpt2", "llama-110m");
  const auto precision = GENERATE(Precision::fp32, Precision::amp_bf16);
  CAPTURE(model, to_string(precision));
  require_sum(*device, language_model(model.c_str()), precision,
              {.count = 3, .batches = 2, .adds = true});
}

TEST_CASE("passes that add their gradients are captured apart from those that overwrite them") {
  const auto device = device_or_skip();
  require_sum(*device, language_model("gpt2"), Precision::amp_bf16,
              {.count = 6, .batches = 2, .adds = true, .whole = true});
}
