/// Mixed precision as PyTorch's autocast defines it (precision.mode amp_fp16, amp_bf16).
#pragma once

#include "core/config/validate.hpp"
#include "core/graph/graph.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe::nn {

/// Regions where autocast is off (model.autocast_off), like nested `with
/// torch.autocast(enabled=...)` around the forward of modules: names of modules (modules.hpp).
/// "NAME" switches autocast off inside NAME, "-NAME" switches it on again. The innermost entry that
/// contains a module applies.
using AutocastRegions = std::vector<std::string>;

bool is_autocast(std::string_view module, const AutocastRegions& off);

/// Returns conflicts: names that the model does not have, and entries without effect, which are off
/// inside off or on inside on.
ConfigConflicts find_conflicts(const AutocastRegions& off, const Graph& forward);

/// Applies autocast to a forward graph, before `fuse` and autodiff. `compute` is f16 or bf16. Each
/// op's record has the rule for its type (ops/record.hpp). In regions where autocast is off, all
/// computation is in f32 and inputs are cast, like `with torch.autocast(enabled=False)` around
/// `module(x.float())`. Their outputs are f32 until a later op casts them.
///
/// Parameters, statistics and saved statistics stay f32 (shape_rules.hpp describes how a
/// convolution uses them). Casts are inserted where types change, one per tensor: "images.bf16",
/// "logits.f32". Gradients of activations have the activations' types; gradients of parameters are
/// f32. Images that already have the compute type (format_input) are not cast.
Graph autocast(const Graph& forward, DType compute, const AutocastRegions& off = {});

} // namespace troupe::nn
