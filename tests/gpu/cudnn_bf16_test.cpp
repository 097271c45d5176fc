// Tests the engines that cuDNN proposes for bf16 when a driver can be loaded: those that are
// compiled at run time. A stub of the driver is enough for that; bf16_engines_test.cpp runs their
// kernels on a device.
#include "bench/gpu/network_problems.hpp"
#include "tests/gpu/cudnn_fixture.hpp"
#include "tests/gpu/driver_stub.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::gpu::cudnn;

namespace {

std::vector<ConvolutionProblem> convolutions() {
  const auto graph = bench::probed_network("resnet50", 128, 224, Stem::imagenet);
  REQUIRE(graph);
  return bench::convolutions_of(*graph, CUDNN_DATA_BFLOAT16);
}

void check_proposed(const Target& target, const OperationGraph& graph) {
  const auto tags = proposed_engines(target, graph, {});
  INFO(graph.name << ": " << (tags ? "" : tags.error().message));
  CHECK(tags);
}

} // namespace

TEST_CASE("on Hopper general engines compute bf16 statistics, also after normalized inputs") {
  testing::load_driver();
  const auto target = testing::described_gpu("h100_sxm");
  for (const auto& problem : convolutions()) {
    check_proposed(target, convolution_statistics(problem));
    if (problem.in > 4)
      check_proposed(target, normalized_convolution_statistics(problem));
  }
}

TEST_CASE("on Hopper nothing else fuses in bf16, even with a driver") {
  testing::load_driver();
  const auto target = testing::described_gpu("h100_sxm");
  for (const auto& problem : convolutions()) {
    if (problem.in == 4)
      continue;
    INFO(problem.to_string());
    CHECK_FALSE(proposed_engines(target, normalized_backward_filter(problem, problem.type), {}));
    CHECK_FALSE(proposed_engines(target, backward_data_batch_norm(problem), {}));
    for (const auto shortcut : {Residual::none, Residual::plain, Residual::normalized})
      CHECK_FALSE(proposed_engines(target, backward_data_batch_norm(problem, shortcut, true), {}));
    for (const bool both : {false, true})
      if (problem.kernel == 1)
        CHECK_FALSE(proposed_engines(target, residual_convolution_statistics(problem, both), {}));
  }
}
