#include "gpu/lowering/convolution_graph.hpp"

#include "gpu/lowering/detail/cudnn_type.hpp"

namespace troupe::gpu {

namespace {

/// Returns the forward convolution x -> y that the node computes or differentiates.
cudnn::ConvolutionProblem problem_of(const Tensor& x, const Tensor& y,
                                     const Conv2dAttributes& attributes) {
  return {.batch = x.shape[0],
          .height = x.shape[1],
          .width = x.shape[2],
          .in = x.shape[3],
          .out = y.shape[3],
          .kernel = attributes.kernel,
          .stride = attributes.stride,
          .padding = attributes.padding,
          .type = cudnn_type(x.dtype)};
}

} // namespace

bool has_pattern(const Node& node) {
  const auto& a = std::get<Conv2dAttributes>(node.attributes);
  if (a.residual != Residual::none && (a.kernel != 1 || a.stride != 1 || a.padding != 0))
    return false;
  return a.statistics || !a.prologue;
}

cudnn::OperationGraph forward_graph(const Graph& graph, const Node& node) {
  const auto& attributes = std::get<Conv2dAttributes>(node.attributes);
  const auto problem = problem_of(graph[node.inputs[0]], graph[node.outputs[0]], attributes);
  if (attributes.residual != Residual::none)
    return cudnn::residual_convolution_statistics(problem,
                                                  attributes.residual == Residual::normalized);
  return attributes.prologue     ? cudnn::normalized_convolution_statistics(problem)
         : attributes.statistics ? cudnn::convolution_statistics(problem)
                                 : cudnn::convolution_forward(problem);
}

cudnn::OperationGraph backward_data_graph(const Graph& graph, const Node& node) {
  const auto& attributes = std::get<Conv2dAttributes>(node.attributes);
  const auto problem = problem_of(graph[node.outputs[0]], graph[node.inputs[0]], attributes);
  if (!attributes.batch_norm_relu)
    return cudnn::convolution_backward_data(problem);
  return cudnn::backward_data_batch_norm(problem, attributes.residual, attributes.add_gradient);
}

cudnn::OperationGraph backward_weight_graph(const Graph& graph, const Node& node, DType gradient) {
  const auto& attributes = std::get<Conv2dAttributes>(node.attributes);
  const auto problem = problem_of(graph[node.inputs[1]], graph[node.inputs[0]], attributes);
  return attributes.prologue ? cudnn::normalized_backward_filter(problem, cudnn_type(gradient))
                             : cudnn::convolution_backward_filter(problem, cudnn_type(gradient));
}

std::vector<cudnn::OperationGraph> convolution_graphs(const Graph& graph, const Node& node) {
  if (node.op == Op::conv2d)
    return {forward_graph(graph, node)};
  if (node.op == Op::conv2d_backward_data)
    return {backward_data_graph(graph, node)};
  if (node.op != Op::conv2d_backward_weight)
    return {};
  std::vector<cudnn::OperationGraph> graphs{backward_weight_graph(graph, node)};
  if (const auto narrow = graph[node.inputs[1]].dtype; narrow != DType::f32)
    graphs.push_back(backward_weight_graph(graph, node, narrow));
  return graphs;
}

} // namespace troupe::gpu
