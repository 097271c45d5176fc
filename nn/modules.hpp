/// Finds PyTorch's modules by the names of a graph's tensors.
#pragma once

#include "core/graph/graph.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe::nn {

/// Returns the module of a forward node: that of its first parameter ("layer1.0.conv1" for
/// "layer1.0.conv1.weight"), or, if it has none, the name of its first output ("layer1.0.add",
/// "avgpool"). So a residual block's additions and activations belong to the block.
std::string module_of(const Graph& graph, const Node& node);

/// Returns whether a module is the one of this name or inside it: "layer1.0.conv1" is within
/// "layer1".
bool is_within(std::string_view module, std::string_view name);

/// Returns the modules and their parents, each once, parents first: "layer1", "layer1.0".
std::vector<std::string> with_parents(const std::vector<std::string>& modules);

/// Returns the modules that have no parent.
std::vector<std::string> outermost(const std::vector<std::string>& modules);

/// Returns all modules of a forward graph and their parents, in the order of the nodes: "layer1",
/// "layer1.0", "layer1.0.conv1". Losses and counts are excluded, because they are not in the model.
/// So is a language model's head, "lm_head", which is one op with its loss, whether its weight is
/// tied or not.
std::vector<std::string> module_names(const Graph& forward);

} // namespace troupe::nn
