#include "tests/emulation/cudnn/graph.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace emulation::cudnn {

namespace {

using Dims = std::array<std::int64_t, 4>;

bool per_channel(const Tensor& tensor, std::int64_t channels, Type type) {
  return tensor.dims == Dims{1, channels, 1, 1} && tensor.type == type;
}

std::string check_convolution(const Graph& graph, const Node& node, const Tensor& x,
                              const Tensor& w, const Tensor& y) {
  for (const auto& [uid, tensor] : graph.tensors)
    if (tensor.dims[0] < 1 || tensor.dims[1] < 1 || tensor.dims[2] < 1 || tensor.dims[3] < 1)
      return "a dimension of tensor " + std::to_string(uid);
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

std::string check_pointwise(const Graph& graph, const Node& node) {
  const bool backward = node.has(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC);
  const auto& x = graph.at(node, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
  const auto& y = graph.at(node, backward ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC
                                          : CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  const auto spreads = [&](const Tensor& from) {
    return from.dims == y.dims || from.dims == Dims{1, y.channels(), 1, 1};
  };
  if (x.dims != y.dims)
    return "the shapes of a pointwise operation";
  const auto other =
      backward ? CUDNN_ATTR_OPERATION_POINTWISE_DYDESC : CUDNN_ATTR_OPERATION_POINTWISE_BDESC;
  const auto mode = node.number<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  const bool binary = mode == CUDNN_POINTWISE_ADD || mode == CUDNN_POINTWISE_MUL ||
                      mode == CUDNN_POINTWISE_RELU_BWD;
  if (node.has(other) != binary)
    return "the operands of a pointwise operation";
  return binary && !spreads(graph.at(node, other)) ? "the shape of a second operand" : "";
}

std::string check_statistics(const Graph& graph, const Node& node) {
  const auto channels = graph.at(node, CUDNN_ATTR_OPERATION_GENSTATS_XDESC).channels();
  return per_channel(graph.at(node, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC), channels, Type::f32) &&
                 per_channel(graph.at(node, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC), channels,
                             Type::f32)
             ? ""
             : "sums that are not one f32 a channel";
}

std::string check_batch_norm(const Graph& graph, const Node& node) {
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

std::string check_node(const Graph& graph, const Node& node) {
  const auto convolution = [&](cudnnBackendAttributeName_t x, cudnnBackendAttributeName_t w,
                               cudnnBackendAttributeName_t y) {
    return check_convolution(graph, node, graph.at(node, x), graph.at(node, w), graph.at(node, y));
  };
  switch (node.type) {
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    return convolution(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    return convolution(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    return convolution(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    return check_pointwise(graph, node);
  case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
    return check_statistics(graph, node);
  default:
    return check_batch_norm(graph, node);
  }
}

nlohmann::json json_of(const Tensor& t) {
  return {t.uid, static_cast<int>(t.type), t.dims, t.is_virtual, t.alignment};
}

} // namespace

std::vector<cudnnBackendAttributeName_t> outputs_of(const Node& node) {
  switch (node.type) {
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    return {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX};
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW};
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    return {node.has(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC) ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC
                                                            : CUDNN_ATTR_OPERATION_POINTWISE_YDESC};
  case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
    return {CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC};
  default:
    return {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC,
            CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC,
            CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC,
            CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC,
            CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS};
  }
}

std::vector<Uid> Graph::written() const {
  std::vector<Uid> all;
  for (const auto& node : nodes)
    for (const auto name : outputs_of(node))
      all.push_back(node.tensor(name));
  return all;
}

std::string problem_of(const Graph& graph) {
  std::set<Uid> written;
  for (const auto& node : graph.nodes) {
    const auto outputs = outputs_of(node);
    for (const auto& [name, uid] : node.tensors)
      if (std::ranges::find(outputs, name) == outputs.end() && graph.tensors.at(uid).is_virtual &&
          !written.contains(uid))
        return "virtual tensor " + std::to_string(uid) + " is read before it is written";
    for (const auto output : outputs)
      if (!written.insert(node.tensor(output)).second)
        return "tensor " + std::to_string(node.tensor(output)) + " is written twice";
    if (auto problem = check_node(graph, node); !problem.empty())
      return problem;
  }
  return "";
}

std::string to_text(const Graph& graph, std::int64_t engine) {
  nlohmann::json tensors, nodes;
  for (const auto& [uid, tensor] : graph.tensors)
    tensors.push_back(json_of(tensor));
  for (const auto& node : graph.nodes)
    nodes.push_back({static_cast<int>(node.type), node.tensors, node.numbers});
  return nlohmann::json{{"emulated", engine}, {"tensors", tensors}, {"nodes", nodes}}.dump();
}

bool from_text(const std::string& text, Graph& graph, std::int64_t& engine) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("emulated"))
    return false;
  engine = json["emulated"];
  for (const auto& t : json["tensors"])
    graph.tensors[t[0]] = {t[0], static_cast<Type>(t[1].get<int>()), t[2], t[3], t[4]};
  for (const auto& n : json["nodes"])
    graph.nodes.push_back({static_cast<cudnnBackendDescriptorType_t>(n[0].get<int>()),
                           n[1].get<std::map<int, Uid>>(),
                           n[2].get<std::map<int, std::vector<double>>>()});
  return true;
}

} // namespace emulation::cudnn
