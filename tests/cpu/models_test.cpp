// Whole models on the oneDNN engine.
#include "graph_runner.hpp"
#include "troupe/nn/compile.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

using namespace troupe;
using namespace troupe::tests;

namespace {

nn::PreparedModel prepare(const std::string& name, std::int64_t size, std::int64_t batch,
                          bool bf16 = false) {
  Config config;
  config.model.name = name;
  config.data.image_size = size;
  config.precision.mode = bf16 ? "amp_bf16" : "fp32";
  auto model =
      nn::prepare_model(config, batch, nn::Purpose::training, {.fuse = nn::FusePatterns::all()});
  if (!model)
    FAIL(model.error().to_string());
  return std::move(*model);
}

} // namespace

TEST_CASE("ResNet-20: every activation and gradient as the interpreter has them") {
  const auto model = prepare("resnet20", 16, 4);
  const auto expected = run_graph(model.graph, {.engine = CompileOptions::Engine::interpreter});
  const auto got = run_graph(model.graph, {});
  // Small differences grow through twenty layers of batch norm.
  require_close(got.activations, expected.activations, 2e-3f);
  require_close(got.gradients, expected.gradients, 2e-3f);
  require_close(got.statistics, expected.statistics, 1e-3f);
}

TEST_CASE("the memory plan does not change a bit, and neither does a second run") {
  const auto model_name = GENERATE("resnet20", "resnet50");
  for (const bool bf16 : {false, true}) {
    const auto model = prepare(model_name, 32, 4, bf16);
    const auto apart = run_graph(model.graph, {.steps = 2});
    const auto planned = run_graph(model.graph, {.memory = model.memory, .steps = 2});
    const auto again = run_graph(model.graph, {.memory = model.memory, .steps = 2});
    REQUIRE(planned.raw_gradients == apart.raw_gradients);
    REQUIRE(again.raw_gradients == planned.raw_gradients);
    REQUIRE(again.outputs.loss == planned.outputs.loss);
  }
}

TEST_CASE("two devices in two threads at once give what one gives") {
  const auto model = prepare("resnet20", 32, 8);
  const auto alone = run_graph(model.graph, {.threads = 1, .memory = model.memory, .steps = 3});
  RunResult results[2];
  std::thread threads[2];
  for (int i = 0; i < 2; ++i)
    threads[i] = std::thread{[&, i] {
      results[i] = run_graph(model.graph, {.threads = 1, .memory = model.memory, .steps = 3});
    }};
  for (auto& thread : threads)
    thread.join();
  for (const auto& result : results)
    REQUIRE(result.raw_gradients == alone.raw_gradients);
}
