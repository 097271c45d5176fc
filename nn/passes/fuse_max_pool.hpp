/// Joins a max pooling with the batch norm and ReLU before it, as a network's stem has them: what
/// is normalized is the largest activation of such a network, and is neither stored nor read again.
#pragma once

#include "nn/passes/fuse_statistics.hpp"

namespace troupe::nn {

/// For a training graph, behind fuse_statistics. Where the device runs it in no more time, and
/// nobody but the pooling reads the result of a batch norm {relu}, or of scale_shift {relu} which
/// is left of one:
///
/// - max_pool {prologue} reads what the batch norm read; batch_norm_statistics makes factor and
///   offset where no convolution has given sums.
/// - batch_norm_backward {pooled} takes the pooling's gradient and index: that of the result is not
///   stored either.
///
/// Not for synchronized batch norms. The same up to rounding; what is in `keep` stays.
Graph fuse_max_pool(const Graph& training, const FusionSupport& support,
                    const std::vector<std::string>& keep = {});

} // namespace troupe::nn
