/// Less to move at those ends of residual blocks that no convolution takes.
#pragma once

#include "nn/passes/fuse_statistics.hpp"

namespace troupe::nn {

/// For a training graph, behind fuse_block_ends. Where a device takes no more time for it, a
/// batch_norm_backward {relu, add}
///
/// - adds up two parts of its gradient itself, and `add` goes;
/// - finds what relu let pass in a mask that forward has written, instead of in what it gave: a bit
///   for each element, instead of two bytes or four.
///
/// The same bits, for a device that stores what it adds up. What is in `keep` stays.
Graph finish_block_ends(const Graph& training, const FusionSupport& support,
                        const std::vector<std::string>& keep = {});

} // namespace troupe::nn
