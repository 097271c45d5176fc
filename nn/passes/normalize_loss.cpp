#include "nn/passes/normalize_loss.hpp"

namespace troupe::nn {

Graph normalize_loss(Graph forward, double rows) {
  for (auto& node : forward.nodes)
    if (auto* const loss = std::get_if<LossAttributes>(&node.attributes))
      loss->rows = rows;
  return forward;
}

} // namespace troupe::nn
