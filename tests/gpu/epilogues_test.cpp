// Tests matrix products whose epilogue adds a bias and applies gelu, and the kernels that run if
// cuBLASLt has no such product.
#include "gpu/alignment.hpp"
#include "gpu/cublas/matmul_plan_registry.hpp"
#include "gpu/lowering/fusion.hpp"
#include "nn/builder.hpp"
#include "tests/devices/compare.hpp"
#include "tests/devices/op_cases.hpp"
#include "tests/gpu/empty_plan_cache.hpp"
#include "tests/gpu/fusion_support.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>

/// Null on a GPU (tests/emulation/runtime/loading.hpp).
extern "C" std::uint64_t troupe_emulated_launches() __attribute__((weak));

using namespace troupe;
using namespace troupe::testing;

namespace {

bool has_gelu(const Node& node) {
  const auto* const a = std::get_if<MatmulAttributes>(&node.attributes);
  return a && a->gelu;
}

const nn::FusionSupport everything{[](const Graph&, const Node&) { return 0.0; }};

/// A linear layer of this width, gelu, and another linear layer.
nn::PreparedModel layers(std::int64_t width, Precision precision,
                         const nn::FusionSupport& support) {
  const auto body = [width](nn::GraphBuilder& b, TensorId x) {
    x = b.gelu("gelu", b.linear("up", b.flatten("flat", x), width), {.tanh = true});
    return b.linear("down", x, 16);
  };
  return make_model({6, 2, 2, 4}, body,
                    {.fuse = nn::FusePatterns::all(),
                     .precision = precision,
                     .fuse_statistics = support,
                     .memory = {.alignment = gpu::tensor_alignment}});
}

nn::FusionSupport support_of(Device& device) {
  auto& cuda = static_cast<gpu::CudaDevice&>(device);
  return wherever_it_runs(
      gpu::fusion_times(cuda, gpu::DeviceRates::of_device(0).value(), gpu::policy_of({})));
}

/// `measures`: products have the fastest measured algorithm, else the first one that is proposed.
void check(Device& device, const nn::PreparedModel& model, Precision precision,
           bool measures = false) {
  RunOptions options = options_for(precision, model.memory);
  options.compile = [measures](Device& on, const Graph& graph, const CompileOptions& with) {
    auto changed = with;
    changed.deterministic = !measures;
    return on.compile(graph, changed);
  };
  require_same_pass(run_graph(device, model.graph, options), run_reference(model.graph, options),
                    precision);
}

/// Replaces the measured microseconds of all cached products, as if they had been measured at
/// another time.
void change_times(double with_epilogue, double without) {
  for (const auto& file : std::filesystem::directory_iterator{gpu::PlanRegistry::default_cache()}) {
    auto entry = nlohmann::json::parse(std::ifstream{file.path()});
    const auto name = entry["name"].get<std::string>();
    const bool has_epilogue =
        name.find(", bias") != std::string::npos || name.find(", gelu") != std::string::npos;
    entry["microseconds"] = has_epilogue ? with_epilogue : without;
    std::ofstream{file.path()} << entry.dump();
  }
}

/// Checks a pass with products of these times, and returns the number of its launches.
std::uint64_t launches_with_times(double with_epilogue, double without) {
  change_times(with_epilogue, without);
  const auto device = device_or_skip();
  const auto model = layers(24, Precision::amp_bf16, support_of(*device));
  const auto before = troupe_emulated_launches();
  check(*device, model, Precision::amp_bf16, true);
  return troupe_emulated_launches() - before;
}

} // namespace

TEST_CASE("gelu and its gradient in the epilogues of products match the interpreter") {
  const auto device = device_or_skip();
  for (const auto precision : {Precision::amp_fp16, Precision::amp_bf16}) {
    CAPTURE(to_string(precision));
    const auto model = layers(24, precision, support_of(*device));
    REQUIRE(std::ranges::count_if(model.graph.nodes, has_gelu) == 2);
    REQUIRE(std::ranges::count(model.graph.nodes, Op::bias_backward, &Node::op) == 0);
    check(*device, model, precision);
  }
}

TEST_CASE("gelu stays separate where cuBLASLt has no epilogue for it") {
  const auto device = device_or_skip();
  for (const auto& model : {layers(24, Precision::fp32, support_of(*device)),
                            layers(20, Precision::amp_fp16, support_of(*device))})
    CHECK(std::ranges::count_if(model.graph.nodes, has_gelu) == 0);
}

// 20 is not a multiple of 8. Only the emulated cuBLASLt knows the variable.
TEST_CASE("kernels do the work of an epilogue that cuBLASLt refuses") {
  const auto device = device_or_skip();
  const bool all = GENERATE(false, true);
  std::optional<EnvironmentVariable> refused;
  if (all)
    refused.emplace("TROUPE_EMULATED_NO_EPILOGUES", "1");
  for (const auto precision : {Precision::fp32, Precision::amp_fp16, Precision::amp_bf16}) {
    CAPTURE(all, to_string(precision));
    const auto model = layers(20, precision, everything);
    REQUIRE(std::ranges::count_if(model.graph.nodes, has_gelu) == 2);
    REQUIRE(std::ranges::count(model.graph.nodes, Op::bias_backward, &Node::op) == 0);
    check(*device, model, precision);
  }
}

TEST_CASE("kernels do the work of an epilogue with which a product is slower") {
  if (!troupe_emulated_launches)
    SKIP("launches are counted on the emulated device");
  const EmptyPlanCache cache;
  {
    const auto device = device_or_skip();
    const auto model = layers(24, Precision::amp_bf16, support_of(*device));
    check(*device, model, Precision::amp_bf16, true); // measures
  }
  constexpr double fast = 1, slow = 1e6; // microseconds
  constexpr int products_with_epilogue = 5;
  CHECK(launches_with_times(slow, fast) >=
        launches_with_times(fast, slow) + products_with_epilogue);
}

TEST_CASE("a language model with a rounded shared table matches the interpreter") {
  const auto device = device_or_skip();
  for (const auto precision : {Precision::amp_fp16, Precision::amp_bf16}) {
    CAPTURE(to_string(precision));
    const auto model = language_model(8, {.fuse = nn::FusePatterns::all(),
                                          .precision = precision,
                                          .fuse_statistics = support_of(*device),
                                          .memory = {.alignment = gpu::tensor_alignment}});
    REQUIRE(std::ranges::none_of(model.graph.nodes, [](const Node& node) {
      return node.op == Op::share && node.phase == Phase::forward;
    }));
    check(*device, model, precision);
  }
}
