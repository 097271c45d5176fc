/// Weights the loss of a micro-batch by its share of the global batch.
#pragma once

#include "core/graph/graph.hpp"

namespace troupe::nn {

/// Divides sums over rows by `rows` (LossAttributes), regardless of how many rows have a label.
/// With rows = samples of the global batch / number of micro-batches, the mean of all
/// micro-batches' losses and gradients is that of the global batch, even if their sizes differ.
/// Call it before autodiff.
Graph normalize_loss(Graph forward, double rows);

} // namespace troupe::nn
