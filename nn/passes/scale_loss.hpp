/// Loss scaling in the graph (Micikevicius et al., "Mixed Precision Training", 2018).
#pragma once

#include "core/graph/graph.hpp"

namespace troupe::nn {

/// For graphs that autodiff has been over. The loss's gradient, and so all gradients, come out
/// multiplied by a new scalar "loss_scale" (role loss_scale); the loss itself does not.
Graph scale_loss(const Graph& differentiated);

} // namespace troupe::nn
