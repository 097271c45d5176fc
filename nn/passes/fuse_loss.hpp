/// A classifier's loss, its gradient and its count of right answers in one kernel.
#pragma once

#include "nn/passes/fuse_statistics.hpp"

namespace troupe::nn {

/// For a training graph, behind scale_loss. Where a device takes no more time for it,
/// softmax_cross_entropy gives the gradient of its logits itself, and its probabilities, which
/// nobody else may want, are not stored; the count_correct of the same logits joins it.
///
/// The same bits, for a device that computes as if probabilities had been stored. What is in `keep`
/// stays.
Graph fuse_loss(const Graph& training, const FusionSupport& support,
                const std::vector<std::string>& keep = {});

} // namespace troupe::nn
