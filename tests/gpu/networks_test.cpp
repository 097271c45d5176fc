// Graphs as nn/passes/fuse_statistics rewrites them for what cuDNN fuses here, and ResNet-50 as it
// is, against the interpreter on the same graphs.
#include "cpu/host_device.hpp"
#include "gpu/alignment.hpp"
#include "gpu/cuda_device.hpp"
#include "gpu/lowering/fusion.hpp"
#include "nn/compile.hpp"
#include "tests/devices/compare.hpp"
#include "tests/devices/networks.hpp"
#include "tests/gpu/fusion_support.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <set>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// To the type that a precision computes products of, relatively.
float one_rounding(Precision precision) {
  return epsilon(precision) / 2;
}

/// In channels that fused engines take.
Graph bottlenecks() {
  return bottleneck_network({8, 32, 32, 3}, 64);
}

Graph resnet50() {
  ModelConfig config;
  config.name = "resnet50";
  config.stem = "imagenet";
  auto graph = nn::build_model(config, {.input = nn::image_input(64), .batch = 8});
  REQUIRE(graph);
  return std::move(*graph);
}

const std::set<Rung> all_rungs{Rung::statistics, Rung::prologue, Rung::mask_and_sums, Rung::end,
                               Rung::end_gradient};

bool is_fused(const Node& node) {
  return rung_of(node) != Rung::none;
}

/// Those that a graph stands on.
std::set<Rung> rungs_of(const Graph& graph) {
  std::set<Rung> rungs;
  for (const auto& node : graph.nodes)
    if (is_fused(node))
      rungs.insert(rung_of(node));
  return rungs;
}

struct Fixture {
  Fixture() : device{device_or_skip()} {}

  nn::PreparedModel prepare(const Graph& forward, Precision precision,
                            nn::FusionSupport support = {}) const {
    nn::PassOptions passes{.fuse = nn::FusePatterns::all(),
                           .precision = precision,
                           .input = {compute_type(precision), 4},
                           .fuse_statistics = std::move(support),
                           .memory = {.alignment = gpu::tensor_alignment}};
    passes.memory.also_in_place.push_back(Op::batch_norm_backward);
    auto model = nn::run_passes(forward, nn::PassMode::training, passes);
    REQUIRE(model);
    return std::move(*model);
  }

  /// Rewritten for this device wherever it can be, faster or not, by these rungs. Skips the test
  /// where nothing of it is fused.
  nn::PreparedModel fused(const Graph& forward, Precision precision,
                          const std::set<Rung>& rungs = all_rungs) const {
    const auto plans = static_cast<gpu::CudaDevice&>(*device).plans();
    if (!plans)
      FAIL(plans.error().to_string());
    const auto times = gpu::fusion_times(**plans, gpu::policy_of({.deterministic = true}));
    auto model = prepare(forward, precision, wherever_it_runs(times, [&](const Node& node) {
                           return rung_of(node) == Rung::none || rungs.contains(rung_of(node));
                         }));
    if (std::ranges::count_if(model.graph.nodes, is_fused) == 0)
      SKIP("cuDNN fuses nothing in " << to_string(precision) << " on " << device->info().name);
    return model;
  }

  void check_pass(const nn::PreparedModel& model, Precision precision) const {
    const auto options = options_for(precision);
    require_same_pass(run_graph(*device, model.graph, options), run_reference(model.graph, options),
                      precision, Depth::deep);
  }

  /// For ResNet-50 in types of few bits, whose gradients no two engines agree on.
  void check_chaotic_pass(const nn::PreparedModel& model, Precision precision) const {
    auto options = options_for(precision);
    const auto got = run_graph(*device, model.graph, options),
               reference = run_reference(model.graph, options);
    options.noise = one_rounding(precision);
    require_as_near(got, reference, run_reference(model.graph, options), precision);
  }

  static RunOptions options_for(Precision precision, const MemoryPlan& memory = {}) {
    return {.tf32 = precision == Precision::tf32,
            .memory = memory,
            .loss_scale = scales_loss(precision) ? 1024.0f : 1.0f};
  }

  std::unique_ptr<Device> device;
};

} // namespace

TEST_CASE_METHOD(Fixture, "convolutions that normalize, sum and mask are what the graph says") {
  check_pass(fused(bottlenecks(), Precision::amp_fp16), Precision::amp_fp16);
}

TEST_CASE_METHOD(Fixture, "each rung of the ladder is what its graph says") {
  const auto network = bottleneck_network({2, 32, 32, 3}, 64);
  check_pass(prepare(network, Precision::amp_fp16), Precision::amp_fp16);
  // Only what gives statistics can be normalized elsewhere, and has copies for other units.
  for (const auto& rungs : {std::set{Rung::statistics},
                            {Rung::mask_and_sums},
                            {Rung::statistics, Rung::prologue},
                            {Rung::statistics, Rung::end},
                            {Rung::statistics, Rung::end_gradient},
                            all_rungs}) {
    const auto model = fused(network, Precision::amp_fp16, rungs);
    INFO("rungs: " << rungs.size());
    CHECK(rungs_of(model.graph) == rungs);
    check_pass(model, Precision::amp_fp16);
  }
}

TEST_CASE_METHOD(Fixture, "ends of blocks that no convolution takes are what the graph says") {
  const auto plans = static_cast<gpu::CudaDevice&>(*device).plans();
  REQUIRE(plans);
  for (const auto precision : {Precision::fp32, Precision::amp_fp16, Precision::amp_bf16}) {
    INFO(to_string(precision));
    const auto times = gpu::fusion_times(**plans, gpu::policy_of({.deterministic = true}));
    const auto model =
        prepare(bottleneck_network({2, 32, 32, 3}, 64), precision,
                wherever_it_runs(times, [](const Node& node) { return !is_fused(node); }));
    CHECK(std::ranges::count_if(model.graph.nodes, is_fused) == 0);
    CHECK(std::ranges::any_of(model.graph.nodes, [](const Node& node) {
      const auto* const a = std::get_if<BatchNormAttributes>(&node.attributes);
      return a && a->mask && a->add_gradient;
    }));
    check_pass(model, precision);
  }
}

TEST_CASE_METHOD(Fixture, "the same in bf16, as far as cuDNN fuses it") {
  check_pass(fused(bottlenecks(), Precision::amp_bf16), Precision::amp_bf16);
}

TEST_CASE_METHOD(Fixture, "fused steps in planned memory learn what the interpreter learns") {
  const Steps steps{.count = 4, .batches = 2, .whole = true, .learn = true};
  const auto model = fused(bottlenecks(), Precision::amp_fp16);
  const auto reference = run_reference(model.graph, options_for(Precision::amp_fp16), steps);
  GraphRun run{*device, model.graph, options_for(Precision::amp_fp16, model.memory)};
  const auto got = run(steps);
  require_same_losses(got, reference, Precision::amp_fp16, Depth::deep);
  require_close_on_average(got.statistics, reference.statistics, 0.05f);
  const auto again = run(steps);
  REQUIRE(again.raw_gradients == got.raw_gradients);
  REQUIRE(again.losses() == got.losses());
}

TEST_CASE_METHOD(Fixture, "a fused ResNet-50 is what its graph says", "[exhaustive]") {
  check_chaotic_pass(fused(resnet50(), Precision::amp_fp16), Precision::amp_fp16);
}

TEST_CASE_METHOD(Fixture, "ResNet-50 apart is what its graph says, in fp32", "[exhaustive]") {
  check_pass(prepare(resnet50(), Precision::fp32), Precision::fp32);
}

TEST_CASE_METHOD(Fixture, "ResNet-50 apart is what its graph says, in tf32", "[exhaustive]") {
  check_chaotic_pass(prepare(resnet50(), Precision::tf32), Precision::tf32);
}

TEST_CASE_METHOD(Fixture, "ResNet-50 apart is what its graph says, in bf16", "[exhaustive]") {
  check_chaotic_pass(prepare(resnet50(), Precision::amp_bf16), Precision::amp_bf16);
}

// Ten of the interpreter's steps would take minutes: its fast sibling stands in for it, on a graph
// without padded channels, which that does not know.
TEST_CASE_METHOD(Fixture, "ResNet-50: ten steps with the host's losses") {
  Steps steps{.count = 10, .batches = 2, .learn = true, .lr = 1e-6f};
  const auto forward = resnet50();
  const auto model = nn::run_passes(
      forward, nn::PassMode::training,
      {.fuse = nn::FusePatterns::all(), .memory = {.alignment = gpu::tensor_alignment}});
  REQUIRE(model);
  const auto host = cpu::make_host_device(0, 0);
  const auto reference = run_graph(*host, model->graph, {}, steps);
  const auto rounded =
      run_graph(*host, model->graph, {.noise = one_rounding(Precision::fp32)}, steps);
  steps.whole = true;
  const auto got = run_graph(*device, model->graph, {.memory = model->memory}, steps);
  const auto losses = got.losses(), wanted = reference.losses(), others = rounded.losses();
  float own = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    own = std::max(own, std::abs(others[i] - wanted[i]));
  // As require_as_near: the host's own roundings, Winograd's, are not the device's either.
  const float allowed = 3 * own + 1e-4f * wanted[0];
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    INFO("step " << i << ": " << losses[i] << ", expected " << wanted[i] << ", allowed "
                 << allowed);
    REQUIRE(std::abs(losses[i] - wanted[i]) <= allowed);
  }
  REQUIRE(wanted[0] - wanted[8] > 20 * allowed); // both of the first batch
}
