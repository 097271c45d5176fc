// Tests which engines a device has for the convolutions of ResNet-50 in bf16, at their real sizes:
// the engines that docs/cudnn-patterns.md lists for sm_90, found without a GPU, must exist on a
// real one. Patterns that are compiled at run time, in seconds each, are only queried for one small
// and one large convolution of each kind. cudnn_patterns_device_test.cpp tests that they compute
// the right results.
#include "bench/gpu/network_problems.hpp"
#include "tests/gpu/cudnn_device_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <functional>
#include <map>

using namespace troupe;
using namespace troupe::gpu::cudnn;
using namespace troupe::testing;

namespace {

std::vector<ConvolutionProblem> convolutions() {
  const auto graph = bench::probed_network("resnet50", 128, 224, Stem::imagenet);
  REQUIRE(graph);
  return bench::convolutions_of(*graph, CUDNN_DATA_BFLOAT16);
}

/// Returns the first and the last convolution of each kernel size and stride after the stem.
std::vector<ConvolutionProblem> of_each_kind() {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<ConvolutionProblem>> kinds;
  for (const auto& problem : convolutions())
    if (problem.in > 4)
      kinds[{problem.kernel, problem.stride}].push_back(problem);
  std::vector<ConvolutionProblem> chosen;
  for (const auto& [kind, all] : kinds)
    chosen.insert(chosen.end(), {all.front(), all.back()});
  return chosen;
}

/// Returns the engine's name, or a dash when there is none.
std::string engine_of(const Target& target, const OperationGraph& graph) {
  const auto plans = find_plans(target, graph, {});
  if (!plans)
    return "-";
  const auto& plan = plans->front();
  return plan.tag().substr(0, plan.tag().find(' ')) + (plan.compiled() ? " (compiled)" : "");
}

using Pattern = std::function<OperationGraph(const ConvolutionProblem&)>;

OperationGraph filter(const ConvolutionProblem& problem) {
  return convolution_backward_filter(problem, problem.type);
}

/// Prints how many problems each engine takes, and requires an engine for every problem.
void require_engines(const Target& target, const std::string& what,
                     const std::vector<ConvolutionProblem>& problems, const Pattern& pattern) {
  std::map<std::string, int> engines;
  for (const auto& problem : problems) {
    const auto engine = engine_of(target, pattern(problem));
    INFO(what << " of " << problem.to_string());
    CHECK(engine != "-");
    ++engines[engine];
  }
  std::string said = "bf16, " + what + ":";
  for (const auto& [engine, count] : engines)
    said += " " + engine + " x " + std::to_string(count);
  WARN(said);
}

Target hopper_or_skip() {
  auto target = gpu_or_skip();
  if (target.sm() != 90)
    SKIP("what there is was found for sm_90, and this is " << target.key());
  return target;
}

} // namespace

TEST_CASE("a device has engines for every convolution of ResNet-50 in bf16", "[device]") {
  const auto target = hopper_or_skip();
  const auto all = convolutions();
  require_engines(target, "forward", all, convolution_forward);
  require_engines(target, "backward filter", all, filter);
  require_engines(target, "backward data", {all.begin() + 1, all.end()}, convolution_backward_data);
}

TEST_CASE("a device compiles engines for bf16 with statistics and normalized inputs", "[device]") {
  const auto target = hopper_or_skip();
  require_engines(target, "statistics", of_each_kind(), convolution_statistics);
  require_engines(target, "normalized input with statistics", of_each_kind(),
                  normalized_convolution_statistics);
}
