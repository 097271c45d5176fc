/// Fuses a max pooling with the batch norm and ReLU before it, as in a network's stem. Their result
/// is the largest activation of such a network; it is then neither stored nor read.
#pragma once

#include "nn/passes/fuse_statistics.hpp"

namespace troupe::nn {

/// For a training graph, after fuse_statistics. Applies if the device takes no more time, and only
/// the pooling reads the result of a batch norm {relu}, or of the scale_shift {relu} that remains
/// of one:
///
/// - max_pool {prologue} reads the batch norm's input. batch_norm_statistics computes factor and
///   offset if no convolution has computed the sums.
/// - batch_norm_backward {pooled} takes the pooling's gradient and index, so that the gradient of
///   the result is not stored either.
///
/// Does not apply to synchronized batch norms. The result is equal up to rounding; tensors in
/// `keep` stay.
Graph fuse_max_pool(const Graph& training, const FusionSupport& support,
                    const std::vector<std::string>& keep = {});

} // namespace troupe::nn
