// Tests that cuDNN's engines take the graphs of attention; docs/cudnn-patterns.md has the table.
// All of these engines are compiled at run time, so cuDNN must find a driver, or a stub of it.
#include "bench/gpu/attention_problems.hpp"
#include "bench/gpu/node_traffic.hpp"
#include "gpu/lowering/attention_graph.hpp"
#include "tests/gpu/attention_graph.hpp"
#include "tests/gpu/cudnn_fixture.hpp"
#include "tests/gpu/driver_stub.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::gpu::cudnn;

namespace {

PlanPolicy attention_policy_for(bool deterministic) {
  return gpu::attention_policy({.deterministic = deterministic});
}

void check_attention_proposed(const Target& target, const OperationGraph& graph,
                              bool deterministic) {
  const auto tags = proposed_engines(target, graph, attention_policy_for(deterministic));
  INFO(graph.name << ": " << (tags ? "" : tags.error().message));
  CHECK(tags);
}

/// Creates a plan and loads it from JSON.
void check_attention_plan(const Target& target, const OperationGraph& graph, bool deterministic) {
  const auto plans = find_plans(target, graph, attention_policy_for(deterministic));
  INFO(graph.name << ": " << (plans ? "" : plans.error().message));
  REQUIRE(plans);
  const auto& plan = plans->front();
  CHECK(plan.workspace_bytes() >=
        plan.engine_workspace_bytes() + OwnTensors{graph}.scratch_bytes());
  const auto json = plan.json(target);
  REQUIRE(json);
  const auto loaded = Plan::from_json(target, graph, *json, plan.tag());
  INFO((loaded ? "" : loaded.error().message));
  REQUIRE(loaded);
  CHECK(loaded->workspace_bytes() == plan.workspace_bytes());
}

} // namespace

TEST_CASE("engines are proposed for attention of all shapes, forward and backward") {
  testing::load_driver();
  for (const auto* device : {"h100_sxm", "h200", "a100_sxm"}) {
    const auto target = testing::described_gpu(device);
    for (const auto type : {CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16})
      for (const auto& problem : bench::probed_attention(type)) {
        INFO(device << ", type " << type);
        check_attention_proposed(target, attention_forward(problem), false);
        check_attention_proposed(target, attention_forward(problem), true);
        check_attention_proposed(target, attention_backward(problem, false), false);
        check_attention_proposed(target, attention_backward(problem, true), true);
      }
  }
}

TEST_CASE("plans of attention are created, stored and loaded") {
  testing::load_driver();
  for (const auto* device : {"h100_sxm", "a100_sxm"}) {
    const auto target = testing::described_gpu(device);
    const auto problem = bench::attention_problem(4, 32, 4, 2048, 64, false, CUDNN_DATA_BFLOAT16);
    INFO(device);
    check_attention_plan(target, attention_forward(problem), false);
    check_attention_plan(target, attention_backward(problem, false), false);
  }
  const auto packed = bench::attention_problem(8, 12, 12, 1024, 64, true, CUDNN_DATA_BFLOAT16);
  check_attention_plan(testing::described_gpu("h100_sxm"), attention_backward(packed, true), true);
}

TEST_CASE("engines refuse heads that are not 16-byte aligned") {
  testing::load_driver();
  const auto problem = bench::attention_problem(2, 2, 2, 64, 20, false, CUDNN_DATA_BFLOAT16);
  const auto plans =
      find_plans(testing::described_gpu("h100_sxm"), attention_forward(problem), PlanPolicy{});
  REQUIRE_FALSE(plans);
  CHECK(plans.error().code == Errc::unsupported);
}

TEST_CASE("a registry has a plan for attention in 16 bits with aligned heads") {
  testing::load_driver();
  gpu::PlanRegistry plans{testing::described_gpu("h100_sxm")};
  const auto has_plan = [&plans](DType type, std::int64_t head_dim) {
    const auto graph = testing::attention_graph(type, 64, head_dim);
    const auto plan = gpu::attention_plan(plans, {}, graph, graph.nodes[0]);
    INFO((plan ? "" : plan.error().message));
    REQUIRE(plan);
    return plan->has_value();
  };
  CHECK(has_plan(DType::bf16, 64));
  CHECK(has_plan(DType::f16, 128));
  CHECK_FALSE(has_plan(DType::bf16, 20));
  CHECK_FALSE(has_plan(DType::f32, 64));
}

// cudnn-frontend's settings for deterministic gradients are not those that heuristics propose.
TEST_CASE("attention on a B200 has a plan, unless the run is deterministic") {
  testing::load_driver();
  gpu::PlanRegistry plans{testing::described_gpu("b200")};
  const auto graph = testing::attention_graph(DType::bf16, 1024, 64);
  for (const bool deterministic : {false, true}) {
    const PlanPolicy policy{.deterministic = deterministic};
    const auto& backward = graph.nodes[1];
    CHECK(proposed_engines(plans.target(), *gpu::attention_graph(graph, backward, policy), policy));
    const auto plan = gpu::attention_plan(plans, policy, graph, backward);
    REQUIRE(plan);
    CHECK(plan->has_value() == !deterministic);
  }
}

TEST_CASE("attention on a described GPU counts as a plan of cuDNN, and in f32 as our kernels") {
  gpu::PlanRegistry plans{testing::described_gpu("h100_sxm")};
  const auto count = [&plans](DType type) {
    const auto graph = testing::attention_graph(type, 64, 64);
    const auto traffic = bench::node_traffic(graph, graph.nodes[1], {}, &plans, {});
    REQUIRE(traffic);
    return *traffic;
  };
  const double product = 2.0 * 2 * 64 * 64 * 64; // the causal half: sequences, heads, rows, keys
  CHECK(count(DType::bf16).launches == 1);
  CHECK(count(DType::bf16).operations == 5 * product);
  CHECK(count(DType::f32).launches == 3);
  CHECK(count(DType::f32).operations == 7 * product);
}
