/// The fusions that the convolutions of a graph may get, so that the plans of all of them can be
/// searched and measured at once.
#pragma once

#include "core/graph/graph.hpp"
#include "gpu/cudnn/patterns.hpp"

#include <vector>

namespace troupe::gpu {

/// Takes a training graph before its batch norms are split. Returns each convolution by itself and
/// as nn/passes/fuse_statistics and fuse_block_ends may fuse it.
std::vector<cudnn::OperationGraph> fusion_variants(const Graph& training);

} // namespace troupe::gpu
