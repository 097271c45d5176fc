#include "nn/passes/scale_loss.hpp"

#include "nn/ops/table.hpp"

namespace troupe::nn {

Graph scale_loss(const Graph& differentiated) {
  auto graph = differentiated;
  for (auto& node : graph.nodes)
    if (record_of(node.op).takes_loss_scale)
      node.inputs.push_back(
          graph.add_tensor({"loss_scale", Shape{}, DType::f32, Role::loss_scale, node.unit}));
  return graph;
}

} // namespace troupe::nn
