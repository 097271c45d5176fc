#include "tests/gpu/cudnn_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <array>
#include <cstddef>
#include <set>
#include <vector>

using namespace troupe;
using namespace troupe::gpu::cudnn;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a described GPU has a name and cannot execute plans") {
  const auto target = testing::described_gpu("h200");
  CHECK(target.sm() == 90);
  CHECK_THAT(target.key(), ContainsSubstring("NVIDIA H200, sm_90, driver 13000, cuDNN 9"));
  CHECK(target.handle() == nullptr);
  CHECK(target.use_stream(nullptr).error().code == Errc::unsupported);
  const auto plans =
      find_plans(target, convolution_forward(testing::small_problem()), PlanPolicy{});
  REQUIRE(plans);
  CHECK(plans->front().execute(target, {}, nullptr).error().code == Errc::unsupported);
}

TEST_CASE("the operands of a plan are described as cuDNN expects them") {
  const auto library = testing::cudnn_or_skip();
  std::array<std::byte, 2> values = {};
  const std::vector<Binding> bindings = {{1, &values[0]}, {2, &values[1]}};
  const auto pack = variant_pack(library, bindings, nullptr);
  INFO((pack ? "" : pack.error().message));
  CHECK(pack);
}

TEST_CASE("invalid device properties are refused") {
  const auto library = testing::cudnn_or_skip();
  for (const auto* text : {"", "{}", "[1]", R"({"deviceName": "x", "deviceVer": "90"})"})
    CHECK(bench::target_of_properties(library, text).error().code == Errc::invalid_input);
}

TEST_CASE("several candidates have different engines or settings, best first") {
  const auto target = testing::described_gpu("h200");
  PlanPolicy policy;
  policy.candidates = 6;
  const auto plans = find_plans(target, convolution_forward(testing::small_problem()), policy);
  REQUIRE(plans);
  CHECK(plans->size() == 6);
  std::set<std::string> tags;
  for (const auto& plan : *plans)
    tags.insert(plan.tag());
  CHECK(tags.size() == plans->size());
  policy.candidates = 1;
  const auto first = find_plans(target, convolution_forward(testing::small_problem()), policy);
  REQUIRE(first);
  CHECK(first->front().tag() == plans->front().tag());
}

TEST_CASE("a policy's workspace limit is respected") {
  const auto target = testing::described_gpu("h200");
  PlanPolicy policy;
  policy.candidates = 8;
  policy.workspace_bytes = 0;
  const auto graph = convolution_backward_filter(testing::small_problem(), CUDNN_DATA_HALF);
  const auto plans = find_plans(target, graph, policy);
  if (plans) {
    for (const auto& plan : *plans)
      CHECK(plan.workspace_bytes() == 0);
  } else {
    CHECK_THAT(plans.error().message, ContainsSubstring("workspace"));
  }
}

TEST_CASE("fp32 convolutions round to TF32 only if that is allowed") {
  const auto target = testing::described_gpu("h200");
  auto problem = testing::small_problem();
  problem.type = CUDNN_DATA_FLOAT;
  PlanPolicy policy;
  const auto exact = find_plans(target, convolution_forward(problem), policy);
  policy.tf32 = true;
  const auto fast = find_plans(target, convolution_forward(problem), policy);
  REQUIRE(exact);
  REQUIRE(fast);
  CHECK(exact->front().tag() != fast->front().tag());
}

TEST_CASE("every direction of a convolution has deterministic plans") {
  const auto target = testing::described_gpu("h200");
  PlanPolicy policy;
  policy.deterministic = true;
  for (const auto type : {CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT}) {
    auto problem = testing::small_problem();
    problem.type = type;
    for (const auto& graph : {convolution_forward(problem), convolution_backward_data(problem),
                              convolution_backward_filter(problem, type)}) {
      const auto plans = find_plans(target, graph, policy);
      INFO(graph.name << ", type " << type << ": " << (plans ? "" : plans.error().message));
      CHECK(plans);
    }
  }
}

TEST_CASE("a pattern that no engine supports is an error that names it") {
  const auto target = testing::described_gpu("h200");
  auto problem = testing::small_problem();
  problem.type = CUDNN_DATA_FLOAT;
  const auto plans = find_plans(target, normalized_convolution_statistics(problem), PlanPolicy{});
  REQUIRE_FALSE(plans);
  CHECK(plans.error().code == Errc::unsupported);
  CHECK_THAT(plans.error().message,
             ContainsSubstring("convolution of a normalized input with statistics 4x16x16x64"));
}

TEST_CASE("a graph with a missing tensor is an error") {
  const auto target = testing::described_gpu("h200");
  auto graph = convolution_forward(testing::small_problem());
  graph.tensors.pop_back();
  CHECK_FALSE(find_plans(target, graph, PlanPolicy{}));
}

TEST_CASE("a plan is written as JSON and loaded again") {
  const auto target = testing::described_gpu("h200");
  for (const auto& graph : {convolution_forward(testing::small_problem()),
                            convolution_backward_filter(testing::small_problem(), CUDNN_DATA_HALF),
                            convolution_statistics(testing::small_problem())}) {
    INFO(graph.name);
    const auto plans = find_plans(target, graph, PlanPolicy{});
    REQUIRE(plans);
    const auto json = plans->front().json(target);
    REQUIRE(json);
    const auto loaded = Plan::from_json(target, graph, *json, plans->front().tag());
    INFO((loaded ? "" : loaded.error().message));
    REQUIRE(loaded);
    CHECK(loaded->workspace_bytes() == plans->front().workspace_bytes());
    CHECK(loaded->tag() == plans->front().tag());
  }
}
