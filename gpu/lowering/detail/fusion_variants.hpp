/// What the convolutions of a graph may become: all that is asked about them later, so that it can
/// be searched and measured at once.
#pragma once

#include "core/graph/graph.hpp"
#include "gpu/cudnn/patterns.hpp"

#include <vector>

namespace troupe::gpu {

/// Of a training graph before batch norms are taken apart: every convolution as it is, and as
/// nn/passes/fuse_statistics and fuse_block_ends may join it.
std::vector<cudnn::OperationGraph> fusion_variants(const Graph& training);

} // namespace troupe::gpu
