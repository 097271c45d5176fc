/// Passes that set options of nodes and add no nodes.
#pragma once

#include "core/graph/graph.hpp"

namespace troupe::nn {

/// Weights the loss of a micro-batch by its share of the global batch. Divides sums over rows by
/// `rows` (LossAttributes), regardless of how many rows have a label. With rows = samples of the
/// global batch / number of micro-batches, the mean of all micro-batches' losses and gradients is
/// that of the global batch, even if their sizes differ. Call it before autodiff.
Graph normalize_loss(Graph forward, double rows);

/// Makes every batch norm that uses the batch's statistics use those of all ranks' batches
/// (BatchNormAttributes::synchronized), like PyTorch's SyncBatchNorm. Call it before autodiff,
/// whose backward then does the same.
Graph sync_batch_norm(Graph forward);

/// Adds loss scaling (Micikevicius et al., "Mixed Precision Training", 2018) to a graph after
/// autodiff. Multiplies the loss's gradient, and so all gradients, by a new scalar "loss_scale"
/// (role loss_scale). The loss itself is not scaled.
Graph scale_loss(const Graph& differentiated);

} // namespace troupe::nn
