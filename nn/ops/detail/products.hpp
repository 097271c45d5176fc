/// Checks and costs that convolutions and matrix products share.
#pragma once

#include "nn/ops/detail/shape_checks.hpp"

namespace troupe::nn::ops {

/// Checks that the weight is f32 or has the type of x.
inline Status expect_weight(const TensorType& weight, const TensorType& x) {
  if (weight.dtype != DType::f32 && weight.dtype != x.dtype)
    return wrong("weight must be f32 or {}, is {}", to_string(x.dtype), to_string(weight.dtype));
  return {};
}

/// Returns the cost of a product. Each element of y takes one multiplication and one addition per
/// weight of its channel. The gradients of x and of the weight take as many.
inline NodeCost cost_of_product(const Graph& graph, const Node& node, TensorId y, TensorId weight) {
  const auto elements = [&](TensorId id) {
    return static_cast<double>(graph[id].shape.elements());
  };
  auto cost = cost_of_moving(graph, node);
  cost.operations =
      2.0 * elements(y) * elements(weight) / static_cast<double>(graph[weight].shape[0]);
  return cost;
}

/// x, weight -> y.
inline NodeCost cost_of_forward(const Graph& graph, const Node& node) {
  return cost_of_product(graph, node, node.outputs[0], node.inputs[1]);
}

/// dy, weight -> dx.
inline NodeCost cost_of_data_gradient(const Graph& graph, const Node& node) {
  return cost_of_product(graph, node, node.inputs[0], node.inputs[1]);
}

/// dy, x -> dweight.
inline NodeCost cost_of_weight_gradient(const Graph& graph, const Node& node) {
  return cost_of_product(graph, node, node.inputs[0], node.outputs[0]);
}

} // namespace troupe::nn::ops
