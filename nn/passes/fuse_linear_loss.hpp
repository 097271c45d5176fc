/// Fuses the loss of language models with its gradients into one kernel.
#pragma once

#include "core/graph/graph.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

/// For a training graph, after scale_loss. linear_cross_entropy_backward also computes the loss and
/// replaces linear_cross_entropy, so that the logits are computed once. The result has the same
/// bits. A loss stays if it is in `keep` or a node reads it.
Graph fuse_linear_loss(const Graph& training, const std::vector<std::string>& keep = {});

} // namespace troupe::nn
