/// Backward half of fuse_block_ends.
#pragma once

#include "nn/passes/fuse_statistics.hpp"

namespace troupe::nn {

/// add, batch_norm_backward {relu} -> conv2d_backward_data {batch_norm_relu},
/// batch_norm_input_gradient.
Graph fuse_end_gradients(const Graph& training, const FusionSupport& support,
                         const std::vector<std::string>& keep);

} // namespace troupe::nn
