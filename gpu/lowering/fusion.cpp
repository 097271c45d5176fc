#include "fusion.hpp"

#include "convolution_graph.hpp"

namespace troupe::gpu {

std::function<bool(const Graph&, const Node&)> fusion_support(std::shared_ptr<PlanBook> plans) {
  return [plans = std::move(plans)](const Graph& graph, const Node& node) {
    switch (node.op) {
    case Op::conv2d: {
      // No pattern of cuDNN normalizes its input and keeps the statistics to itself.
      const auto& attributes = std::get<Conv2dAttributes>(node.attributes);
      return (attributes.statistics || !attributes.prologue) &&
             plans->plan(convolution_graph(graph, node)).has_value();
    }
    case Op::conv2d_backward_data:
      return plans->plan(convolution_graph(graph, node)).has_value();
    case Op::conv2d_backward_weight:
      return plans->plan(convolution_graph(graph, node)).has_value() ||
             plans->plan(convolution_graph(graph, node, graph[node.inputs[1]].dtype)).has_value();
    default:
      return true;
    }
  };
}

} // namespace troupe::gpu
