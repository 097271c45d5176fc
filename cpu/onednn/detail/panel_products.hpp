/// Convolutions in f32 by our kernels, as sums of products for each position of the kernel
/// (cpu/kernels/panel_products.cpp; docs/adr/0044).
#pragma once

#include "cpu/onednn/lowering.hpp"

namespace troupe::cpu {

/// Whether the kernels support the convolution, without bias and if its weights are stored as
/// tap_weights(), and are faster than the library. Others have precedence: suits_winograd().
bool suits_panels(const ConvolutionProblem& problem);

/// Whether they support the node.
bool runs_on_panels(const Lowering& lowering, const Node& node, Direction direction);

Result<StepPtr> lower_panel_product(Lowering& lowering, const Node& node, Direction direction);
/// The product of lower_panel_product() for Direction::backward_weight.
StepPtr lower_panel_gradient(const Lowering& lowering, const Node& node);

} // namespace troupe::cpu
