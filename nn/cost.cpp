#include "nn/cost.hpp"

#include "nn/ops/record.hpp"

#include <algorithm>

namespace troupe::nn {

std::size_t bytes_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.shape.elements()) * size_of(tensor.dtype);
}

double NodeCost::time() const {
  constexpr double operations_per_byte = 16;
  return std::max(bytes, operations / operations_per_byte);
}

NodeCost cost_of(const Graph& graph, const Node& node) {
  return record_of(node.op).cost(graph, node);
}

NodeCost cost_of_moving(const Graph& graph, const Node& node) {
  NodeCost cost;
  for (const auto* ids : {&node.inputs, &node.outputs})
    for (const auto id : *ids)
      cost.bytes += static_cast<double>(bytes_of(graph[id]));
  return cost;
}

NodeCost cost_of(const Graph& graph) {
  NodeCost all;
  for (const auto& node : graph.nodes) {
    const auto [operations, repeated, bytes] = cost_of(graph, node);
    all = {all.operations + operations, all.repeated + repeated, all.bytes + bytes};
  }
  return all;
}

} // namespace troupe::nn
