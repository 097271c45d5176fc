/// Which of cuDNN's patterns a convolution node is, with what is fused to it.
#pragma once

#include "core/graph/graph.hpp"
#include "gpu/cudnn/patterns.hpp"

#include <vector>

namespace troupe::gpu {

/// Whether there is one of a conv2d at all; an engine may refuse it still. None normalizes its
/// input and keeps the statistics to itself, and blocks end in 1x1 convolutions alone.
bool has_pattern(const Node& node);

cudnn::OperationGraph forward_graph(const Graph& graph, const Node& node);
cudnn::OperationGraph backward_data_graph(const Graph& graph, const Node& node);
/// The weight gradient is written as `gradient`: f32, or the type of activations.
cudnn::OperationGraph backward_weight_graph(const Graph& graph, const Node& node,
                                            DType gradient = DType::f32);

/// All graphs that one of these nodes' plan is chosen from: a weight gradient's in both types. None
/// for other nodes.
std::vector<cudnn::OperationGraph> convolution_graphs(const Graph& graph, const Node& node);

} // namespace troupe::gpu
