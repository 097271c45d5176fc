/// Joins the ends of residual blocks with the convolutions that read them, in the next block: so a
/// block's end is written, and its gradient read, once.
#pragma once

#include "nn/passes/fuse_statistics.hpp"

namespace troupe::nn {

/// For a training graph behind fuse_statistics, which takes batch norms apart. Where the device
/// runs what is made, and in no more time than what it replaces:
///
/// - "gradient of a block's end": what a batch norm with relu gave is read by a convolution, whose
///   backward data, plus what comes through the shortcut, is its gradient. conv2d_backward_data
///   adds that, masks and reduces, for the batch norm of a normalized residual too;
///   batch_norm_input_gradient does the rest, and the residual's gradient is that of the end.
/// - "block's end": the scale_shift {relu} that adds a residual goes into the prologue of a
///   convolution that reads its result, which it writes, too. It stands where the first reader
///   stood.
///
/// These nodes belong to the convolution's unit, where the batch norm's parameters and gradients
/// may not be used: they read copies that batch_norm_finalize gives, and give sums that
/// batch_norm_input_gradient passes on to the gradients. Synchronized batch norms and what is in
/// `keep` stay as they are.
///
/// What the nodes read is then kept from one unit's forward to another's backward, so it cannot be
/// made again: not for graphs that `recompute` comes to.
Graph fuse_block_ends(const Graph& training, const FusionSupport& support,
                      const std::vector<std::string>& keep = {});

} // namespace troupe::nn
