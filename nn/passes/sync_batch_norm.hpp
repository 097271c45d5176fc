/// Batch norm over the batches of all ranks, like PyTorch's SyncBatchNorm.
#pragma once

#include "core/graph/graph.hpp"

namespace troupe::nn {

/// Makes every batch norm that uses the batch's statistics use those of all ranks' batches
/// (BatchNormAttributes::synchronized). Call it before autodiff, whose backward then does the same.
Graph sync_batch_norm(Graph forward);

} // namespace troupe::nn
