#include "nn/passes/sync_batch_norm.hpp"

namespace troupe::nn {

Graph sync_batch_norm(Graph forward) {
  for (auto& node : forward.nodes)
    if (auto* const attributes = std::get_if<BatchNormAttributes>(&node.attributes))
      attributes->synchronized = attributes->training;
  return forward;
}

} // namespace troupe::nn
