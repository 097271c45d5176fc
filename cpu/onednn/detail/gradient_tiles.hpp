/// Gradients of a linear layer's weights in bf16 by our own kernels
/// (kernels/weight_gradient_amx.cpp).
#pragma once

#include "cpu/onednn/detail/products.hpp"

namespace troupe::cpu {

/// Whether the operands lie in memory as they are multiplied, by a processor that has tiles.
bool has_gradient_tiles(const ProductProblem& problem);
StepPtr gradient_by_tiles(const Lowering& lowering, const Node& node,
                          const ProductProblem& problem);

} // namespace troupe::cpu
