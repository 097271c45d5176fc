#include "fusion.hpp"

#include "convolution_graph.hpp"

namespace troupe::gpu {

namespace {

/// No memory to measure in says nothing about engines: the fused node stays, and lowering reports
/// it.
bool offered(PlanBook& plans, const cudnn::OperationGraph& graph) {
  const auto plan = plans.plan(graph);
  return plan || plan.error().code == Errc::out_of_memory;
}

} // namespace

std::function<bool(const Graph&, const Node&)> fusion_support(std::shared_ptr<PlanBook> plans) {
  return [plans = std::move(plans)](const Graph& graph, const Node& node) {
    switch (node.op) {
    case Op::conv2d: {
      // No pattern of cuDNN normalizes its input and keeps the statistics to itself.
      const auto& attributes = std::get<Conv2dAttributes>(node.attributes);
      return (attributes.statistics || !attributes.prologue) &&
             offered(*plans, convolution_graph(graph, node));
    }
    case Op::conv2d_backward_data:
      return offered(*plans, convolution_graph(graph, node));
    case Op::conv2d_backward_weight:
      return offered(*plans, convolution_graph(graph, node)) ||
             offered(*plans, convolution_graph(graph, node, graph[node.inputs[1]].dtype));
    default:
      return true;
    }
  };
}

} // namespace troupe::gpu
