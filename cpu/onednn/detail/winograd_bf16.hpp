/// 3x3 convolutions in bf16 by our Winograd kernels (docs/adr/0023), only for inference. If dot
/// products are the processor's best bf16 instructions, they take 0.5 to 0.7 of the library's time.
#pragma once

#include "cpu/onednn/lowering.hpp"

namespace troupe::cpu {

/// Whether these kernels support the convolution if its weights are stored as winograd_weights().
bool may_be_winograd_bf16(const ConvolutionProblem& problem, const Epilogue& epilogue);

/// Whether these kernels support the node.
bool suits_winograd_bf16(const Lowering& lowering, const Node& node,
                         const ConvolutionProblem& problem, Direction direction);

Result<StepPtr> lower_winograd_bf16(Lowering& lowering, const Node& node);

} // namespace troupe::cpu
