/// Reduces memory traffic at ends of residual blocks that no convolution absorbs.
#pragma once

#include "nn/passes/fuse_statistics.hpp"

namespace troupe::nn {

/// For a training graph, after fuse_block_ends. If the device takes no more time, a
/// batch_norm_backward {relu, add}
///
/// - sums two contributions to its gradient itself, which replaces `add`;
/// - reads which elements passed relu from a mask that forward writes, not from relu's output: one
///   bit per element instead of two or four bytes.
///
/// The result has the same bits on a device that stores its sums. Tensors in `keep` stay.
Graph finish_block_ends(const Graph& training, const FusionSupport& support,
                        const std::vector<std::string>& keep = {});

} // namespace troupe::nn
