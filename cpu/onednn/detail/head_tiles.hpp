/// A linear_cross_entropy in bf16 by our kernels (kernels/logits_amx.cpp).
#pragma once

#include "cpu/onednn/lowering.hpp"

namespace troupe::cpu {

/// Whether its operands are multiplied as bf16, on a processor with tiles.
bool has_head_tiles(const Lowering& lowering, const Node& node);
StepPtr head_by_tiles(const Lowering& lowering, const Node& node);
StepPtr head_backward_by_tiles(const Lowering& lowering, const Node& node);

} // namespace troupe::cpu
