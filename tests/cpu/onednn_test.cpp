// Tests features of the host's fastest engine only: numbers of threads, two ways to compute in
// bf16, and infinities in f16.
#include "core/config/config.hpp"
#include "cpu/engines.hpp"
#include "cpu/host_device.hpp"
#include "nn/builder.hpp"
#include "tests/devices/compare.hpp"
#include "tests/devices/op_cases.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cmath>
#include <thread>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Native products round weights and results as the interpreter does. Products in f32 keep the
/// weights' precision: results are nearer to the exact ones, but now and then another value passes
/// a relu or a maximum, which is visible in the gradients of such small tensors.
constexpr float native_tolerance = 0.1f, widened_gradient_tolerance = 0.4f;

RunOptions in_mode(cpu::Bf16Mode mode) {
  return {.compile = [mode](Device& device, const Graph& graph, const CompileOptions& options) {
    return cpu::compile_onednn(static_cast<cpu::HostDevice&>(device), graph, options, mode);
  }};
}

nn::PreparedModel prepare(const std::string& name, Precision precision,
                          std::vector<std::string> autocast_off = {}) {
  Config config;
  config.model.name = name;
  config.model.width = 16;
  config.model.autocast_off = std::move(autocast_off);
  config.data.image_size = 32;
  config.precision.mode = precision;
  auto model =
      nn::prepare_model(config, 4, nn::PassMode::training, {.fuse = nn::FusePatterns::all()});
  if (!model)
    FAIL(model.error().to_string());
  return std::move(*model);
}

} // namespace

TEST_CASE("every op gives the same result with one thread and with two") {
  const auto device = cpu::make_host_device(0, 2);
  for (const auto& one : all_op_cases()) {
    INFO(one.name);
    const auto graph = one.model({}).graph;
    require_same_pass(run_graph(*device, graph, {.threads = 1}),
                      run_graph(*device, graph, {.threads = 2}), Precision::fp32);
  }
}

TEST_CASE("every op in bf16, with native products and with products cast up to f32") {
  const auto device = cpu::make_host_device(0, 2);
  for (const auto& one : all_op_cases()) {
    INFO(one.name);
    const auto graph = one.model({.precision = Precision::amp_bf16}).graph;
    const auto reference = run_reference(graph);
    if (cpu::has_native_bf16()) {
      const auto native = run_graph(*device, graph, in_mode(cpu::Bf16Mode::native));
      require_close_on_average(native.activations, reference.activations, native_tolerance);
      require_close_on_average(native.gradients, reference.gradients, native_tolerance);
      require_close_on_average(native.statistics, reference.statistics, native_tolerance);
    }
    const auto widened = run_graph(*device, graph, in_mode(cpu::Bf16Mode::widened));
    require_close_on_average(widened.gradients, reference.gradients, widened_gradient_tolerance);
    require_close_on_average(widened.statistics, reference.statistics, native_tolerance);
    REQUIRE(std::abs(widened.outputs["loss"] - reference.outputs["loss"]) <=
            0.02f * reference.outputs["loss"]);
  }
}

TEST_CASE("in bf16 the memory plan does not change a bit, nor does a second run") {
  const auto* const name = GENERATE("resnet20", "resnet50");
  const auto device = cpu::make_host_device(0, 2);
  const auto model = prepare(name, Precision::amp_bf16);
  const auto apart = run_graph(*device, model.graph, {}, {.count = 2});
  const auto planned = run_graph(*device, model.graph, {.memory = model.memory}, {.count = 2});
  const auto again = run_graph(*device, model.graph, {.memory = model.memory}, {.count = 2});
  REQUIRE(planned.raw_gradients == apart.raw_gradients);
  REQUIRE(again.raw_gradients == planned.raw_gradients);
  REQUIRE(again.outputs["loss"] == planned.outputs["loss"]);
}

TEST_CASE(
    "gradients that a loss scale pushes out of f16's range are not finite, as in the reference") {
  const auto device = cpu::make_host_device(0, 2);
  const auto model = prepare("resnet20", Precision::amp_fp16);
  const auto finite = [](const RunResult& result) {
    return std::ranges::all_of(result.raw_gradients, [](float g) { return std::isfinite(g); });
  };
  for (const float scale : {0x1p10f, 0x1p40f}) {
    const RunOptions options{.loss_scale = scale};
    const auto got = run_graph(*device, model.graph, options);
    CHECK(finite(got) == (scale < 0x1p40f));
    CHECK(finite(run_reference(model.graph, options)) == finite(got));
    CHECK(std::isfinite(got.outputs["loss"]));
  }
}

TEST_CASE("activations that overflow f16 give a loss of NaN") {
  const auto device = cpu::make_host_device(0, 2);
  const auto model = make_model(
      {4, 6, 6, 3},
      [](nn::GraphBuilder& b, TensorId x) {
        for (int layer = 0; layer < 40; ++layer) // without a norm, each layer increases x
          x = b.conv2d("conv" + std::to_string(layer), x, 64, {3, 1, 1});
        return b.relu("relu", b.batch_norm("bn", x, true));
      },
      {.fuse = nn::FusePatterns::all(), .precision = Precision::amp_fp16});
  CHECK(std::isnan(run_reference(model.graph).outputs["loss"]));
  CHECK(std::isnan(run_graph(*device, model.graph).outputs["loss"]));
}

TEST_CASE("f32 regions of a bf16 network, with native products and with products cast up to f32") {
  const auto mode = GENERATE(cpu::Bf16Mode::widened, cpu::Bf16Mode::native);
  if (mode == cpu::Bf16Mode::native && !cpu::has_native_bf16())
    return; // oneDNN has no bf16 on this processor
  const auto device = cpu::make_host_device(0, 2);
  const auto graph =
      prepare("resnet20", Precision::amp_bf16,
              {"bn1", "layer1.0", "-layer1.0.conv2", "layer2.1.add", "layer3", "-layer3.1", "fc"})
          .graph;
  require_same_pass(run_graph(*device, graph, in_mode(mode)), run_reference(graph),
                    Precision::amp_bf16, Depth::deep);
}

TEST_CASE("nodes that only other devices' passes create are refused by name") {
  const auto device = cpu::make_host_device(0, 1);
  const auto refused = [&](const nn::PassOptions& passes) {
    const auto model = make_model({4, 6, 6, 3}, two_convolutions(8, {3, 1, 1}), passes);
    const auto compiled = device->compile(model.graph, {});
    return compiled ? std::string{"nothing"} : compiled.error().to_string();
  };
  CHECK(refused({.input = {.channels = 4}}).find("the fused conv2d (conv1)") != std::string::npos);
}

TEST_CASE("nodes that only other devices split or fuse are refused by name") {
  const auto device = cpu::make_host_device(0, 1);
  const auto check = [&](Op op, std::size_t inputs, const Attributes& attributes) {
    Graph graph;
    graph.units = {"all"};
    const auto x = graph.add_tensor({.name = "x", .shape = {4, 8}});
    const auto y = graph.add_tensor({.name = "y", .shape = {4, 8}});
    graph.add_node({.op = op,
                    .inputs = std::vector<TensorId>(inputs, x),
                    .outputs = {y},
                    .attributes = attributes});
    const auto compiled = device->compile(graph, {});
    REQUIRE_FALSE(compiled);
    CHECK_THAT(
        compiled.error().to_string(),
        Catch::Matchers::ContainsSubstring("the fused " + std::string{to_string(op)} + " (y)"));
  };
  check(Op::batch_norm_finalize, 6, BatchNormAttributes{});
  check(Op::batch_norm_statistics, 5, BatchNormAttributes{});
  check(Op::scale_shift, 3, BatchNormAttributes{});
  check(Op::batch_norm_input_gradient, 5, BatchNormAttributes{});
  check(Op::batch_norm_backward, 7, BatchNormAttributes{});
  check(Op::batch_norm_backward, 8, BatchNormAttributes{});
  check(Op::layer_norm, 4, LayerNormAttributes{.fusion = {.add = true}});
  check(Op::rms_norm_backward, 4, RmsNormAttributes{.fusion = {.narrow = true}});
  check(Op::matmul, 2, MatmulAttributes{.gelu = true});
  check(Op::matmul_backward_data, 3, MatmulAttributes{.gelu = true});
  check(Op::matmul_backward_weight, 2, MatmulAttributes{.bias_gradient = true});
}

TEST_CASE("two devices in two threads give the same result as one") {
  const auto model = prepare("resnet20", Precision::fp32);
  const auto run = [&] {
    const auto device = cpu::make_host_device(0, 2);
    return run_graph(*device, model.graph, {.threads = 1, .memory = model.memory}, {.count = 3});
  };
  const auto alone = run();
  RunResult results[2];
  std::thread threads[2];
  for (int i = 0; i < 2; ++i)
    threads[i] = std::thread{[&, i] { results[i] = run(); }};
  for (auto& thread : threads)
    thread.join();
  for (const auto& result : results)
    REQUIRE(result.raw_gradients == alone.raw_gradients);
}
