/// Mixed precision, as PyTorch's autocast defines it (precision.mode amp_fp16, amp_bf16).
#pragma once

#include "core/graph/graph.hpp"
#include "nn/passes/autocast_regions.hpp"

namespace troupe::nn {

/// For forward graphs as models are built, before `fuse` and autodiff. `compute` is f16 or bf16.
/// Each op's record says what type it computes in (ops/detail/autocast_rule.hpp). Where autocast is
/// off, all is computed in f32, and what comes in is cast, as `with torch.autocast(enabled=False)`
/// over `module(x.float())` does; what comes out is f32, as long as nothing casts it.
///
/// Parameters, statistics and saved statistics stay f32 (shape_rules.hpp says how a convolution
/// uses them). Casts stand where types change, one a tensor: "images.bf16", "logits.f32". Gradients
/// of activations have the activations' types, those of parameters are f32. Images that have the
/// compute type already (format_input) are not cast.
Graph autocast(const Graph& forward, DType compute, const AutocastRegions& off = {});

} // namespace troupe::nn
