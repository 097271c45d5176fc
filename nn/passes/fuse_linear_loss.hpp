/// The loss of language models and its gradients in one kernel.
#pragma once

#include "core/graph/graph.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

/// For a training graph, behind scale_loss: linear_cross_entropy_backward gives the loss, too, and
/// linear_cross_entropy goes, so that the logits are made once. The same bits. What is in `keep`
/// stays, and a loss that somebody else reads.
Graph fuse_linear_loss(const Graph& training, const std::vector<std::string>& keep = {});

} // namespace troupe::nn
