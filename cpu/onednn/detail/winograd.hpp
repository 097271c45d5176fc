/// 3x3 convolutions in f32 by our Winograd kernels (docs/adr/0014), which take 0.4 to 0.6 of the
/// time of the library's direct ones.
#pragma once

#include "cpu/onednn/lowering.hpp"

namespace troupe::cpu {

/// Whether these kernels support the convolution, forward and both gradients.
bool suits_winograd(const ConvolutionProblem& problem);

/// The layout in which these kernels want weights stored: (3, 3, in, out).
dnnl::memory::desc winograd_weights(const ConvolutionProblem& problem);

Result<StepPtr> lower_winograd(Lowering& lowering, const Node& node, Direction direction);

} // namespace troupe::cpu
