/// PyTorch's modules, as the names of a graph's tensors tell them.
#pragma once

#include "core/graph/graph.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe::nn {

/// The module of a forward node: of its first parameter ("layer1.0.conv1" of
/// "layer1.0.conv1.weight"), or, where it has none, what its first output is called
/// ("layer1.0.add", "avgpool"). So a residual block's additions and activations are the block's.
std::string module_of(const Graph& graph, const Node& node);

/// Whether a module is the one of this name or inside it: "layer1.0.conv1" is within "layer1".
bool is_within(std::string_view module, std::string_view name);

/// All modules of a forward graph and those around them, in the order of the nodes: "layer1",
/// "layer1.0", "layer1.0.conv1". Losses and counts are none of them: they are not in the model. Nor
/// is a language model's head, "lm_head", which is one op with its loss, whether its weight is tied
/// or not.
std::vector<std::string> module_names(const Graph& forward);

} // namespace troupe::nn
