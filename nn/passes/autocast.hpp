/// Mixed precision as PyTorch's autocast defines it (precision.mode amp_fp16, amp_bf16).
#pragma once

#include "core/graph/graph.hpp"
#include "nn/passes/autocast_regions.hpp"

namespace troupe::nn {

/// Applies autocast to a forward graph, before `fuse` and autodiff. `compute` is f16 or bf16. Each
/// op's record has the rule for its type (ops/detail/autocast_rule.hpp). In regions where autocast
/// is off, all computation is in f32 and inputs are cast, like `with torch.autocast(enabled=False)`
/// around `module(x.float())`. Their outputs are f32 until a later op casts them.
///
/// Parameters, statistics and saved statistics stay f32 (shape_rules.hpp describes how a
/// convolution uses them). Casts are inserted where types change, one per tensor: "images.bf16",
/// "logits.f32". Gradients of activations have the activations' types; gradients of parameters are
/// f32. Images that already have the compute type (format_input) are not cast.
Graph autocast(const Graph& forward, DType compute, const AutocastRegions& off = {});

} // namespace troupe::nn
