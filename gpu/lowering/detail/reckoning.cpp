#include "reckoning.hpp"

namespace troupe::gpu {

namespace {

double bytes_of(const Tensor& tensor) {
  return static_cast<double>(tensor.shape.elements()) * static_cast<double>(size_of(tensor.dtype));
}

bool sums_for_itself(const Node& node) {
  if (node.op == Op::batch_norm_backward)
    return true;
  return node.op == Op::batch_norm && std::get<BatchNormAttributes>(node.attributes).training;
}

/// The tensors that are summed up: x, and dy with the mask of its ReLU.
std::size_t summed_inputs(const Node& node) {
  return node.op == Op::batch_norm ? 1 : 2;
}

} // namespace

double bytes_moved(const Graph& graph, const Node& node) {
  double bytes = 0;
  for (const auto* ids : {&node.inputs, &node.outputs})
    for (const auto id : *ids)
      bytes += bytes_of(graph[id]);
  if (sums_for_itself(node))
    for (std::size_t i = 0; i < summed_inputs(node); ++i)
      bytes += bytes_of(graph[node.inputs[i]]);
  return bytes;
}

double reckon(const DeviceRates& rates, const Graph& graph, const Node& node) {
  const double launches = sums_for_itself(node) ? rates.microseconds(0) : 0;
  return launches + rates.microseconds(bytes_moved(graph, node));
}

} // namespace troupe::gpu
