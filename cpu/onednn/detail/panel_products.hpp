/// 1x1 convolutions in f32 by our kernels (cpu/kernels/panel_products.cpp; docs/adr/0044).
#pragma once

#include "cpu/onednn/lowering.hpp"

namespace troupe::cpu {

/// Whether the kernels support the 1x1 convolution.
bool suits_panels(const Lowering& lowering, const Node& node, Direction direction);

Result<StepPtr> lower_panel_product(Lowering& lowering, const Node& node, Direction direction);
/// The product of lower_panel_product() for Direction::backward_weight.
StepPtr lower_panel_gradient(const Lowering& lowering, const Node& node);

} // namespace troupe::cpu
