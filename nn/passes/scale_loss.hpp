/// Adds loss scaling to the graph (Micikevicius et al., "Mixed Precision Training", 2018).
#pragma once

#include "core/graph/graph.hpp"

namespace troupe::nn {

/// For graphs after autodiff. Multiplies the loss's gradient, and so all gradients, by a new scalar
/// "loss_scale" (role loss_scale). The loss itself is not scaled.
Graph scale_loss(const Graph& differentiated);

} // namespace troupe::nn
