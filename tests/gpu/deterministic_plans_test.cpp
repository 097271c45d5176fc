// Tests that with run.deterministic two runs without cached plans find the same plans and end with
// the same bits.
#include "gpu/alignment.hpp"
#include "gpu/cuda_device.hpp"
#include "gpu/lowering/convolution_graph.hpp"
#include "gpu/lowering/fusion.hpp"
#include "nn/compile.hpp"
#include "tests/devices/graph_runner.hpp"
#include "tests/devices/networks.hpp"
#include "tests/gpu/empty_plan_cache.hpp"
#include "tests/gpu/engine_notes.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <mutex>
#include <set>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Collects lines about plans and choices, without the duration of a search, whether or not it
/// found a plan.
class Said {
public:
  gpu::Say say() {
    return [this](const std::string& line) {
      const std::lock_guard lock{mutex_};
      lines_.insert(line.starts_with("choice ") ? line : line.substr(0, line.rfind(" (")));
    };
  }
  const std::multiset<std::string>& lines() const { return lines_; }

private:
  std::mutex mutex_;
  std::multiset<std::string> lines_;
};

/// A device whose plan registry is empty, and a network rewritten for it as in a job.
struct FreshRun {
  explicit FreshRun(Precision precision_) : precision{precision_} {
    auto made = gpu::make_cuda_device(0, said.say());
    if (!made)
      SKIP("no CUDA device: " << made.error().to_string());
    device = std::move(*made);
    auto opened = device->plans();
    REQUIRE(opened);
    plans = *opened;
    nn::PassOptions passes{.fuse = nn::FusePatterns::all(),
                           .precision = precision,
                           .input = {compute_type(precision), 4},
                           .memory = {.alignment = gpu::tensor_alignment}};
    if (compute_type(precision) != DType::f32)
      passes.fuse_statistics = {gpu::fusion_times(*plans, policy())};
    auto ready =
        nn::run_passes(bottleneck_network({4, 32, 32, 3}, 64), nn::PassMode::training, passes);
    REQUIRE(ready);
    model = std::move(*ready);
  }

  gpu::cudnn::PlanPolicy policy() const { return gpu::policy_of({.deterministic = true}); }

  /// Trains three steps; the last ones run as a CUDA graph.
  RunResult train() const {
    auto options = options_for(precision, model.memory);
    options.compile = [](Device& on, const Graph& graph, CompileOptions compile) {
      compile.deterministic = true;
      return on.compile(graph, compile);
    };
    return run_graph(*device, model.graph, options,
                     {.count = 3, .batches = 2, .whole = true, .learn = true});
  }

  EmptyPlanCache cache;
  Precision precision;
  Said said;
  std::unique_ptr<gpu::CudaDevice> device;
  gpu::PlanRegistry* plans = nullptr;
  nn::PreparedModel model;
};

} // namespace

TEST_CASE("deterministic runs without cached plans choose the same plans and give the same bits") {
  const auto precision = GENERATE(Precision::amp_fp16, Precision::amp_bf16, Precision::fp32);
  CAPTURE(to_string(precision));
  const FreshRun first{precision};
  const auto before = first.train();
  const FreshRun second{precision};
  const auto after = second.train();
  CHECK(first.said.lines() == second.said.lines());
  CHECK(after.parameters == before.parameters);
  CHECK(after.statistics == before.statistics);
  CHECK(after.raw_gradients == before.raw_gradients);
  CHECK(after.losses() == before.losses());
  std::size_t found = 0;
  for (const auto& line : first.said.lines())
    if (line.starts_with("plan of ")) {
      INFO(line);
      CHECK(line.ends_with(", not measured"));
      ++found;
    }
  CHECK(found > 0);
}

TEST_CASE("deterministic runs use no engine that cuDNN marks as nondeterministic") {
  const auto precision = GENERATE(Precision::amp_fp16, Precision::amp_bf16, Precision::fp32);
  CAPTURE(to_string(precision));
  const FreshRun run{precision};
  for (const auto& node : run.model.graph.nodes)
    for (const auto& graph : gpu::convolution_graphs(run.model.graph, node)) {
      const auto plan = run.plans->plan(graph, run.policy());
      if (!plan)
        continue; // a weight gradient in f32
      INFO(graph.name << ": " << plan->plan->tag());
      const auto notes = proposed_notes(*plan->target, graph);
      REQUIRE(notes.contains(plan->plan->tag()));
      CHECK_FALSE(is_marked(notes.at(plan->plan->tag())));
    }
}
