/// 3x3 convolutions in bf16 by our own Winograd kernels (docs/adr/0023), in inference alone: where
/// dot products are the processor's best they take 0.5 to 0.7 of the time of the library's.
#pragma once

#include "cpu/onednn/lowering.hpp"

namespace troupe::cpu {

/// Whether these kernels take the convolution, if its weights are stored as winograd_weights says.
bool may_be_winograd_bf16(const ConvolutionProblem& problem, const Epilogue& epilogue);

/// Whether these kernels take the node.
bool suits_winograd_bf16(const Lowering& lowering, const Node& node,
                         const ConvolutionProblem& problem, Direction direction);

Result<StepPtr> lower_winograd_bf16(Lowering& lowering, const Node& node);

} // namespace troupe::cpu
