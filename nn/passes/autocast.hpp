/// Mixed precision, as PyTorch's autocast defines it (precision.mode amp_fp16, amp_bf16).
#pragma once

#include "troupe/core/graph.hpp"

namespace troupe::nn {

/// For forward graphs, before autodiff. `compute` is f16 or bf16.
/// - In the compute type: conv2d, matmul.
/// - In f32: losses and counts, which add up many small terms.
/// - All others in the widest type of what they read; with one activation, in its type: batch norm,
///   relu, pooling, shortcuts, flatten and bias follow their input.
///
/// Parameters, statistics and saved statistics stay f32 (shape_rules.hpp says how a convolution
/// uses them). Casts stand where types change, one a tensor: "images.bf16", "logits.f32". Gradients
/// of activations have the activations' types, those of parameters are f32. Images that have the
/// compute type already (format_input) are not cast.
Graph autocast(const Graph& forward, DType compute);

} // namespace troupe::nn
