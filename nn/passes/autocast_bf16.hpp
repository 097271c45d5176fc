/// Mixed precision with bfloat16 (precision.mode amp_bf16).
#pragma once

#include "troupe/core/graph.hpp"

namespace troupe::nn {

/// For forward graphs, before autodiff. Convolutions, matmuls and all between them (batch norm,
/// relu, add, pooling, shortcuts, flatten, bias) read and write bf16 activations; losses and counts
/// read f32. Parameters, statistics and saved statistics stay f32 (shape_rules.hpp says how a
/// convolution uses them). Casts stand at the borders: "images.bf16", "logits.f32". Gradients of
/// activations are bf16 then, those of parameters f32; nothing needs a loss scale, as bf16 has the
/// range of f32.
Graph autocast_bf16(const Graph& forward);

} // namespace troupe::nn
