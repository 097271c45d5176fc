/// The loss of a micro-batch as a share of its global batch's.
#pragma once

#include "core/graph/graph.hpp"

namespace troupe::nn {

/// Sums over rows are divided by `rows` (LossAttributes), however many rows have a label: with
/// rows = samples of the global batch / number of micro-batches, the mean of all micro-batches'
/// losses and gradients is the global batch's, also when they differ in size. Before autodiff.
Graph normalize_loss(Graph forward, double rows);

} // namespace troupe::nn
