#include "scale_loss.hpp"

namespace troupe::nn {

Graph scale_loss(const Graph& differentiated) {
  auto graph = differentiated;
  for (auto& node : graph.nodes)
    if (node.op == Op::softmax_cross_entropy_backward || node.op == Op::mean_squared_error_backward)
      node.inputs.push_back(
          graph.add_tensor({"loss_scale", Shape{}, DType::f32, Role::loss_scale, node.unit}));
  return graph;
}

} // namespace troupe::nn
