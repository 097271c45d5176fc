#include "missing_plan.hpp"

#include "troupe/gpu/lowering/convolution_graph.hpp"

std::string troupe::tests::missing_plan(gpu::PlanBook& plans, const gpu::cudnn::PlanPolicy& policy,
                                        const Graph& graph) {
  for (const auto& node : graph.nodes) {
    const bool weight = node.op == Op::conv2d_backward_weight;
    if (node.op != Op::conv2d && node.op != Op::conv2d_backward_data && !weight)
      continue;
    auto plan = plans.plan(gpu::convolution_graph(graph, node), policy);
    // Weight gradients come out in the type of activations where no engine writes f32.
    if (!plan && weight)
      plan = plans.plan(gpu::convolution_graph(graph, node, graph[node.inputs[1]].dtype), policy);
    if (!plan)
      return plan.error().message;
  }
  return {};
}
