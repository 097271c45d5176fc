/// 3x3 convolutions by our Winograd kernels. In f32 (docs/adr/0014), they take 0.4 to 0.6 of the
/// time of the library's direct ones. In bf16 (docs/adr/0023), only for inference and if dot
/// products are the processor's best bf16 instructions, they take 0.5 to 0.7 of it.
#pragma once

#include "cpu/onednn/lowering.hpp"

namespace troupe::cpu {

/// Whether the f32 kernels support the convolution, forward and both gradients.
bool suits_winograd(const ConvolutionProblem& problem);

/// The layout in which these kernels want weights (out, in, 3, 3) stored: (3, 3, in, out); or, if
/// not `in_rows`, (3, 3, out, in).
dnnl::memory::desc winograd_weights(const ConvolutionProblem& problem, bool in_rows = true);

Result<StepPtr> lower_winograd(Lowering& lowering, const Node& node, Direction direction);

/// Whether the bf16 kernels support the convolution if its weights are stored as
/// winograd_weights().
bool may_be_winograd_bf16(const ConvolutionProblem& problem, const Epilogue& epilogue);

/// Whether the bf16 kernels support the node.
bool suits_winograd_bf16(const Lowering& lowering, const Node& node,
                         const ConvolutionProblem& problem, Direction direction);

Result<StepPtr> lower_winograd_bf16(Lowering& lowering, const Node& node);

} // namespace troupe::cpu
