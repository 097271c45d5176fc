/// Fuses the ends of residual blocks with the convolutions of the next block that read them. So a
/// block's end is written, and its gradient is read, only once.
#pragma once

#include "nn/passes/fuse_statistics.hpp"

namespace troupe::nn {

/// For a training graph after fuse_statistics, which splits batch norms. Applies each fusion if the
/// device supports the new nodes and they take no more time than those they replace:
///
/// - "gradient of a block's end": a convolution reads the output of a batch norm with relu. The
///   output's gradient is the convolution's backward data plus the gradient through the shortcut.
///   conv2d_backward_data adds the shortcut's part, masks and reduces, also for the batch norm of a
///   normalized residual. batch_norm_input_gradient computes the rest, and the residual's gradient
///   is the gradient of the end.
/// - "block's end": the scale_shift {relu} that adds a residual moves into the prologue of a
///   convolution that reads its result. The convolution writes this result, too, and moves to the
///   position of the first reader.
///
/// These nodes belong to the convolution's unit, which may not use the parameters and gradients of
/// the batch norm. So they read copies that batch_norm_finalize writes, and write sums that
/// batch_norm_input_gradient passes on to the gradients. Synchronized batch norms and tensors in
/// `keep` are unchanged.
///
/// Tensors that these nodes read are kept from one unit's forward to another unit's backward, so
/// they cannot be recomputed. Do not apply this pass to graphs for `recompute`.
Graph fuse_block_ends(const Graph& training, const FusionSupport& support,
                      const std::vector<std::string>& keep = {});

} // namespace troupe::nn
