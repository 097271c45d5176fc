#include "nn/passes/annotate.hpp"

#include "nn/ops/record.hpp"

namespace troupe::nn {

Graph normalize_loss(Graph forward, double rows) {
  for (auto& node : forward.nodes)
    if (auto* const loss = std::get_if<LossAttributes>(&node.attributes))
      loss->rows = rows;
  return forward;
}

Graph sync_batch_norm(Graph forward) {
  for (auto& node : forward.nodes)
    if (auto* const attributes = std::get_if<BatchNormAttributes>(&node.attributes))
      attributes->synchronized = attributes->training;
  return forward;
}

Graph scale_loss(const Graph& differentiated) {
  auto graph = differentiated;
  for (auto& node : graph.nodes)
    if (record_of(node.op).takes_loss_scale)
      node.inputs.push_back(
          graph.add_tensor({"loss_scale", Shape{}, DType::f32, Role::loss_scale, node.unit}));
  return graph;
}

} // namespace troupe::nn
