#include "tests/gpu/missing_plan.hpp"

#include "gpu/lowering/convolution_graph.hpp"

std::string troupe::testing::missing_plan(gpu::PlanRegistry& plans,
                                          const gpu::cudnn::PlanPolicy& policy,
                                          const Graph& graph) {
  for (const auto& node : graph.nodes) {
    // One plan is enough: weight gradients are written in the type of activations when no engine
    // writes f32.
    std::string missing;
    for (const auto& way : gpu::convolution_graphs(graph, node)) {
      const auto plan = plans.plan(way, policy);
      missing = plan ? "" : plan.error().message;
      if (plan)
        break;
    }
    if (!missing.empty())
      return missing;
  }
  return {};
}
