/// Which of cuDNN's patterns a convolution node is.
#pragma once

#include "../cudnn/patterns.hpp"
#include "troupe/core/graph.hpp"

namespace troupe::gpu {

/// For conv2d, conv2d_backward_data and conv2d_backward_weight, with what is fused to them. A
/// weight gradient is written as `gradient`: the type of activations, or f32.
cudnn::OperationGraph convolution_graph(const Graph& graph, const Node& node,
                                        DType gradient = DType::f32);
/// All ways to run such a node that its plan is chosen from: a weight gradient's both types.
std::vector<cudnn::OperationGraph> convolution_graphs(const Graph& graph, const Node& node);

} // namespace troupe::gpu
