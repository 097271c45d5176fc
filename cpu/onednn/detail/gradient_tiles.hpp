/// Gradients of a linear layer's weights in bf16 by our kernels (kernels/weight_gradient_amx.cpp).
#pragma once

#include "cpu/onednn/detail/products.hpp"

namespace troupe::cpu {

/// Whether the operands are stored in the type and layout of the product, and the processor has
/// tiles.
bool has_gradient_tiles(const ProductProblem& problem);
StepPtr gradient_by_tiles(const Lowering& lowering, const Node& node,
                          const ProductProblem& problem);

} // namespace troupe::cpu
