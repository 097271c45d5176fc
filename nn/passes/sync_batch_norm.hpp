/// Batch norm over the batches of all ranks together, as PyTorch's SyncBatchNorm.
#pragma once

#include "core/graph/graph.hpp"

namespace troupe::nn {

/// Every batch norm that takes the batch's statistics takes those of all ranks' batches
/// (BatchNormAttributes::synchronized). Before autodiff, whose backward then does the same.
Graph sync_batch_norm(Graph forward);

} // namespace troupe::nn
