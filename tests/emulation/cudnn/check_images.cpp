#include "tests/emulation/cudnn/checks.hpp"

namespace emulation::cudnn {

namespace {

bool per_channel(const Tensor& tensor, std::int64_t channels, Type type) {
  return tensor.dims == Dims{1, channels, 1, 1} && tensor.type == type;
}

std::string problem_of_convolution(const Graph& graph, const Node& node,
                                   cudnnBackendAttributeName_t x_name,
                                   cudnnBackendAttributeName_t w_name,
                                   cudnnBackendAttributeName_t y_name) {
  const auto &x = graph.at(node, x_name), &w = graph.at(node, w_name), &y = graph.at(node, y_name);
  Dims expected{x.dims[0], w.dims[0]};
  for (const auto axis : {0u, 1u}) {
    const auto at = [&](cudnnBackendAttributeName_t name) {
      return static_cast<std::int64_t>(node.numbers.at(name).at(axis));
    };
    if (at(CUDNN_ATTR_CONVOLUTION_DILATIONS) != 1)
      return "dilation";
    expected[2 + axis] = (x.dims[2 + axis] + at(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS) +
                          at(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS) - w.dims[2 + axis]) /
                             at(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES) +
                         1;
  }
  return y.dims == expected && x.dims[1] == w.dims[1] ? "" : "the shapes of a convolution";
}

std::string problem_of_statistics(const Graph& graph, const Node& node) {
  const auto channels = graph.at(node, CUDNN_ATTR_OPERATION_GENSTATS_XDESC).channels();
  return per_channel(graph.at(node, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC), channels, Type::f32) &&
                 per_channel(graph.at(node, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC), channels,
                             Type::f32)
             ? ""
             : "sums that are not one f32 a channel";
}

std::string problem_of_batch_norm(const Graph& graph, const Node& node) {
  const auto& x = graph.at(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC);
  if (graph.at(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC).dims != x.dims)
    return "the shapes of a batch norm";
  for (const auto& [name, uid] : node.tensors)
    if (name != CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC &&
        name != CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC &&
        !per_channel(graph.tensors.at(uid), x.channels(), Type::f32))
      return "a batch norm's tensor that is not one f32 a channel";
  return "";
}

} // namespace

std::string problem_of_image_node(const Graph& graph, const Node& node) {
  for (const auto& [name, uid] : node.tensors)
    if (const auto& tensor = graph.tensors.at(uid);
        !same_places(tensor.dims, tensor.strides, channels_last(tensor.dims)))
      return "tensor " + std::to_string(uid) + " is not channels-last";
  switch (node.type) {
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    return problem_of_convolution(graph, node, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    return problem_of_convolution(graph, node, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    return problem_of_convolution(graph, node, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
  case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
    return problem_of_statistics(graph, node);
  default:
    return problem_of_batch_norm(graph, node);
  }
}

} // namespace emulation::cudnn
