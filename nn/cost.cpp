#include "cost.hpp"

#include <algorithm>

namespace troupe::nn {

namespace {

/// Every element of y takes one multiplication and one addition per weight of its channel.
double products(const Tensor& y, const Tensor& weight) {
  return 2.0 * static_cast<double>(y.shape.elements()) *
         static_cast<double>(weight.shape.elements()) / static_cast<double>(weight.shape[0]);
}

double operations_of(const Graph& graph, const Node& node) {
  switch (node.op) {
  case Op::conv2d:
  case Op::matmul:
    return products(graph[node.outputs[0]], graph[node.inputs[1]]);
  case Op::conv2d_backward_data:
  case Op::matmul_backward_data:
    return products(graph[node.inputs[0]], graph[node.inputs[1]]);
  case Op::conv2d_backward_weight:
  case Op::matmul_backward_weight:
    return products(graph[node.inputs[0]], graph[node.outputs[0]]);
  default:
    return 0;
  }
}

} // namespace

std::size_t bytes_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.shape.elements()) * size_of(tensor.dtype);
}

double NodeCost::time() const {
  constexpr double operations_per_byte = 16;
  return std::max(bytes, operations / operations_per_byte);
}

NodeCost cost_of(const Graph& graph, const Node& node) {
  NodeCost cost{.operations = operations_of(graph, node)};
  for (const auto* ids : {&node.inputs, &node.outputs})
    for (const auto id : *ids)
      cost.bytes += static_cast<double>(bytes_of(graph[id]));
  return cost;
}

double operations_of(const Graph& graph) {
  double operations = 0;
  for (const auto& node : graph.nodes)
    operations += operations_of(graph, node);
  return operations;
}

} // namespace troupe::nn
