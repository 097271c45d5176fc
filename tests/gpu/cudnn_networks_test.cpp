// Tests the requirements on the measured networks; docs/cudnn-patterns.md has the whole table.
#include "bench/gpu/network_problems.hpp"
#include "tests/gpu/cudnn_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::gpu::cudnn;

namespace {

std::vector<ConvolutionProblem> resnet50(cudnnDataType_t type) {
  const auto graph = bench::probed_network("resnet50", 128, 224, Stem::imagenet);
  REQUIRE(graph);
  return bench::convolutions_of(*graph, type);
}

void require_plan(const Target& target, const OperationGraph& graph,
                  const PlanPolicy& policy = {}) {
  const auto plans = find_plans(target, graph, policy);
  INFO(graph.name << ": " << (plans ? "" : plans.error().message));
  REQUIRE(plans);
}

} // namespace

TEST_CASE("ResNet-50 has its known convolutions") {
  const auto problems = resnet50(CUDNN_DATA_HALF);
  CHECK(problems.size() == 23);
  CHECK(problems.front().to_string() == "128x224x224x4 -> 64, 7x7 / 2");
}

TEST_CASE("every convolution of ResNet-50 has plans in every direction") {
  for (const auto* device : {"h200", "h100_sxm", "a100_sxm"}) {
    const auto target = testing::described_gpu(device);
    for (const auto type : {CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT})
      for (const auto& problem : resnet50(type)) {
        require_plan(target, convolution_forward(problem));
        require_plan(target, convolution_backward_filter(problem, type));
        if (problem.in > 4)
          require_plan(target, convolution_backward_data(problem));
      }
  }
}

TEST_CASE("on Hopper every convolution of ResNet-50 except the stem fuses in fp16") {
  for (const auto* device : {"h200", "h100_sxm"}) {
    const auto target = testing::described_gpu(device);
    for (const auto& problem : resnet50(CUDNN_DATA_HALF)) {
      if (problem.in == 4)
        continue;
      require_plan(target, convolution_statistics(problem));
      require_plan(target, normalized_convolution_statistics(problem));
      require_plan(target, backward_data_batch_norm(problem));
      require_plan(target, normalized_backward_filter(problem, problem.type));
      if (problem.stride != 1)
        continue;
      require_plan(target, backward_data_batch_norm(problem, Residual::none, true));
      require_plan(target, backward_data_batch_norm(problem, Residual::plain, true));
      require_plan(target, backward_data_batch_norm(problem, Residual::normalized, true));
      if (problem.kernel == 1) {
        require_plan(target, residual_convolution_statistics(problem, false));
        require_plan(target, residual_convolution_statistics(problem, true));
      }
    }
  }
}

TEST_CASE("on Ampere every convolution of ResNet-50 except the stem has statistics in fp16") {
  const auto target = testing::described_gpu("a100_sxm");
  for (const auto& problem : resnet50(CUDNN_DATA_HALF))
    if (problem.in > 4) {
      require_plan(target, convolution_statistics(problem));
      require_plan(target, normalized_convolution_statistics(problem));
      require_plan(target, normalized_backward_filter(problem, problem.type));
    }
}

TEST_CASE("bf16 has no fused backward, with or without a driver") {
  const auto target = testing::described_gpu("h200");
  for (const auto& problem : resnet50(CUDNN_DATA_BFLOAT16))
    for (const auto& graph :
         {backward_data_batch_norm(problem), normalized_backward_filter(problem, problem.type)}) {
      const auto plans = find_plans(target, graph, {});
      REQUIRE_FALSE(plans);
      CHECK(plans.error().code == Errc::unsupported);
    }
}
