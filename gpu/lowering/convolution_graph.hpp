/// Maps a convolution node, with what is fused into it, to one of cuDNN's patterns.
#pragma once

#include "core/graph/graph.hpp"
#include "gpu/cudnn/patterns.hpp"

#include <vector>

namespace troupe::gpu {

/// Whether a pattern for a conv2d exists at all; an engine may still reject it. No pattern
/// normalizes its input without also writing statistics, and only 1x1 convolutions can include the
/// end of a block.
bool has_pattern(const Node& node);

cudnn::OperationGraph forward_graph(const Graph& graph, const Node& node);
cudnn::OperationGraph backward_data_graph(const Graph& graph, const Node& node);
/// The weight gradient is written as `gradient`: f32 or the type of activations.
cudnn::OperationGraph backward_weight_graph(const Graph& graph, const Node& node,
                                            DType gradient = DType::f32);

/// Returns all graphs from which the plan of a convolution node is chosen; for a weight gradient,
/// both types. Empty for other nodes.
std::vector<cudnn::OperationGraph> convolution_graphs(const Graph& graph, const Node& node);

} // namespace troupe::gpu
