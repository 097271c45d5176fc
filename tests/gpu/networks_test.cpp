// Compares graphs that nn/passes/fuse_statistics rewrites for cuDNN's fusions on this device, and
// the unchanged ResNet-50, with the interpreter on the same graphs.
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

/// Returns the relative error of a rounding to the type in which a precision computes products.
float one_rounding(Precision precision) {
  return epsilon(precision) / 2;
}

/// Uses channels that fused engines accept.
Graph bottlenecks() {
  return bottleneck_network({8, 32, 32, 3}, 64);
}

Graph resnet50() {
  ModelConfig config;
  config.name = "resnet50";
  config.stem = Stem::imagenet;
  auto graph = nn::build_model(config, {.input = nn::image_input(64), .batch = 8});
  REQUIRE(graph);
  return std::move(*graph);
}

const std::set<Rung> all_rungs{Rung::statistics, Rung::prologue, Rung::mask_and_sums, Rung::end,
                               Rung::end_gradient};

bool is_fused(const Node& node) {
  return rung_of(node) != Rung::none;
}

/// Returns the rungs that occur in a graph.
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

  /// Rewrites a network for this device wherever these rungs apply, faster or not. Skips the test
  /// when no node is fused.
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

  /// Checks a pass of ResNet-50 in a type of few bits, on whose gradients no two engines agree.
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

TEST_CASE_METHOD(Fixture, "convolutions that normalize, sum and mask match their graph") {
  check_pass(fused(bottlenecks(), Precision::amp_fp16), Precision::amp_fp16);
}

TEST_CASE_METHOD(Fixture, "every combination of fusions matches its graph") {
  const auto network = bottleneck_network({2, 32, 32, 3}, 64);
  check_pass(prepare(network, Precision::amp_fp16), Precision::amp_fp16);
  // Only a convolution that gives statistics can be normalized elsewhere and has copies for other
  // units.
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

TEST_CASE_METHOD(Fixture, "block ends outside of convolutions match their graph") {
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

TEST_CASE_METHOD(
    Fixture,
    "convolutions that normalize, sum and mask match their graph in bf16, as far as cuDNN fuses") {
  check_pass(fused(bottlenecks(), Precision::amp_bf16), Precision::amp_bf16);
}

TEST_CASE_METHOD(Fixture, "fused steps in planned memory have the interpreter's losses") {
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

TEST_CASE_METHOD(Fixture, "a fused ResNet-50 matches its graph", "[exhaustive]") {
  check_chaotic_pass(fused(resnet50(), Precision::amp_fp16), Precision::amp_fp16);
}

TEST_CASE_METHOD(Fixture, "an unfused ResNet-50 matches its graph in fp32", "[exhaustive]") {
  check_pass(prepare(resnet50(), Precision::fp32), Precision::fp32);
}

TEST_CASE_METHOD(Fixture, "an unfused ResNet-50 matches its graph in tf32", "[exhaustive]") {
  check_chaotic_pass(prepare(resnet50(), Precision::tf32), Precision::tf32);
}

TEST_CASE_METHOD(Fixture, "an unfused ResNet-50 matches its graph in bf16", "[exhaustive]") {
  check_chaotic_pass(prepare(resnet50(), Precision::amp_bf16), Precision::amp_bf16);
}

// Ten steps of the interpreter would take minutes: the host's fast engine replaces it, on a graph
// without padded channels, which it does not support.
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
  // As in require_as_near: the roundings of the host's Winograd convolutions differ from the
  // device's, too.
  const float allowed = 3 * own + 1e-4f * wanted[0];
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    INFO("step " << i << ": " << losses[i] << ", expected " << wanted[i] << ", allowed "
                 << allowed);
    REQUIRE(std::abs(losses[i] - wanted[i]) <= allowed);
  }
  REQUIRE(wanted[0] - wanted[8] > 20 * allowed); // both losses are of the first batch
}
