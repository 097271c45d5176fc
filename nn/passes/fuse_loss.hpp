/// Fuses a classifier's loss, its gradient and its count of correct predictions into one kernel.
#pragma once

#include "nn/passes/fuse_statistics.hpp"

namespace troupe::nn {

/// For a training graph, after scale_loss. If the device takes no more time, softmax_cross_entropy
/// computes the gradient of its logits itself and does not store its probabilities, which must have
/// no other reader. The count_correct of the same logits is fused, too.
///
/// The result has the same bits on a device that computes as if probabilities were stored. Tensors
/// in `keep` stay.
Graph fuse_loss(const Graph& training, const FusionSupport& support,
                const std::vector<std::string>& keep = {});

} // namespace troupe::nn
