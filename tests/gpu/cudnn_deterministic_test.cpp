// Tests which engines the real cuDNN has for reproducible runs, on GPUs that are only described.
#include "bench/gpu/network_problems.hpp"
#include "tests/gpu/cudnn_fixture.hpp"
#include "tests/gpu/engine_notes.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::gpu::cudnn;
using troupe::testing::proposed_notes;

namespace {

std::vector<ConvolutionProblem> convolutions(cudnnDataType_t type) {
  const auto graph = bench::probed_network("resnet50", 128, 224, Stem::imagenet);
  REQUIRE(graph);
  return bench::convolutions_of(*graph, type);
}

/// Returns the patterns of a convolution in a step, fused and not fused.
std::vector<OperationGraph> patterns(const ConvolutionProblem& problem) {
  std::vector<OperationGraph> all = {convolution_forward(problem),
                                     convolution_backward_filter(problem, problem.type),
                                     convolution_statistics(problem)};
  if (problem.in == 4)
    return all;
  for (auto& graph :
       {convolution_backward_data(problem), normalized_convolution_statistics(problem),
        backward_data_batch_norm(problem), normalized_backward_filter(problem, problem.type)})
    all.push_back(graph);
  if (problem.stride == 1)
    for (const auto shortcut : {Residual::none, Residual::plain, Residual::normalized})
      all.push_back(backward_data_batch_norm(problem, shortcut, true));
  if (problem.stride == 1 && problem.kernel == 1)
    for (const bool both : {false, true})
      all.push_back(residual_convolution_statistics(problem, both));
  return all;
}

std::ptrdiff_t marked(const std::map<std::string, NumericalNotes>& notes) {
  return std::ranges::count_if(
      notes, [](const auto& engine) { return testing::is_marked(engine.second); });
}

} // namespace

TEST_CASE("deterministic policies never select an engine that cuDNN marks as nondeterministic",
          "[long]") {
  const auto target = testing::described_gpu("h100_sxm");
  std::ptrdiff_t not_deterministic = 0;
  for (const auto type : {CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT})
    for (const auto& problem : convolutions(type))
      for (const auto& graph : patterns(problem)) {
        INFO(graph.name << ", type " << type);
        const auto notes = proposed_notes(target, graph);
        not_deterministic += marked(notes);
        const auto plans = find_plans(target, graph, {.deterministic = true, .candidates = 3});
        // Every pattern that fuses at all also fuses in reproducible runs.
        CHECK(plans.has_value() == find_plans(target, graph, {}).has_value());
        for (std::size_t i = 0; plans && i < plans->size(); ++i)
          CHECK_FALSE(testing::is_marked(notes.at((*plans)[i].tag())));
      }
  CHECK(not_deterministic > 0); // otherwise the test proves nothing
}
