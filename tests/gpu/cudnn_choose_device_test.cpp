#include "tests/gpu/cudnn_device_fixture.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe::gpu::cudnn;
using namespace troupe::testing;
using troupe::testing::ScratchFolder;

namespace {

constexpr ConvolutionProblem problem = {8, 16, 16, 64, 64, 3, 1, 1, CUDNN_DATA_HALF};

DeviceValues operands() {
  return {{uid::x, random_values(elements_of(problem.x()), 1, problem.type)},
          {uid::w, random_values(elements_of(problem.w()), 2, problem.type)},
          {uid::dy, random_values(elements_of(problem.y()), 3, problem.type)}};
}

} // namespace

TEST_CASE("candidates are measured once, and the fastest is then read from disk", "[device]") {
  const auto target = gpu_or_skip();
  const ScratchFolder folder;
  const PlanCache cache(folder.path());
  const auto graph = convolution_forward(problem);
  PlanPolicy policy;
  policy.candidates = 6;
  const DeviceTensors tensors(graph, operands(), policy.workspace_bytes);
  const auto buffers = tensors.buffers();
  const MeasurePlans measure = [&](std::span<const Plan> plans) {
    std::vector<troupe::Result<double>> times;
    for (const auto& plan : plans)
      times.push_back(measure_microseconds(target, plan, nullptr, buffers));
    return troupe::Result<std::vector<troupe::Result<double>>>{std::move(times)};
  };
  const auto chosen = choose_plan(target, graph, policy, &cache, measure);
  INFO((chosen ? "" : chosen.error().message));
  REQUIRE(chosen);
  CHECK(chosen->microseconds > 0);

  const auto again = choose_plan(target, graph, policy, &cache, measure);
  REQUIRE(again);
  CHECK(again->plan.tag() == chosen->plan.tag());
  CHECK(again->microseconds == chosen->microseconds);
  REQUIRE(target.use_stream(nullptr));
  const auto status = again->plan.execute(target, buffers.bindings, buffers.workspace);
  INFO((status ? "" : status.error().message));
  REQUIRE(status);
  require_near(tensors.read().at(uid::y),
               true_forward(problem, operands().at(uid::x), operands().at(uid::w)), 2e-3);
}

TEST_CASE("deterministic plans repeat bit by bit", "[device]") {
  const auto target = gpu_or_skip();
  PlanPolicy policy;
  policy.deterministic = true;
  policy.candidates = 4;
  for (const auto& graph : {convolution_forward(problem), convolution_backward_data(problem),
                            convolution_backward_filter(problem, problem.type)}) {
    const auto plans = find_plans(target, graph, policy);
    REQUIRE(plans);
    for (const auto& plan : *plans) {
      INFO(graph.name << ", " << plan.tag());
      const DeviceTensors tensors(graph, operands(), plan.workspace_bytes());
      const auto buffers = tensors.buffers();
      REQUIRE(target.use_stream(nullptr));
      REQUIRE(plan.execute(target, buffers.bindings, buffers.workspace));
      const auto first = tensors.read();
      for (int i = 0; i < 3; ++i) {
        REQUIRE(plan.execute(target, buffers.bindings, buffers.workspace));
        CHECK(tensors.read() == first);
      }
    }
  }
}
