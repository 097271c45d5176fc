#include "tests/emulation/cudnn/graph.hpp"

#include "tests/emulation/cudnn/checks.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace emulation::cudnn {

namespace {

nlohmann::json json_of(const Tensor& t) {
  return {t.uid,      static_cast<int>(t.type), t.dims, t.strides, t.is_virtual, t.is_by_value,
          t.alignment};
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
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    return {CUDNN_ATTR_OPERATION_MATMUL_CDESC};
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    return {CUDNN_ATTR_OPERATION_REDUCTION_YDESC};
  case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    return {CUDNN_ATTR_OPERATION_RESHAPE_YDESC};
  default:
    return {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC,
            CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC,
            CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC,
            CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC,
            CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS};
  }
}

std::size_t Tensor::span_bytes() const {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    last += (dims[axis] - 1) * strides[axis];
  return static_cast<std::size_t>(last + 1) * size_of(type);
}

std::vector<Uid> Graph::written() const {
  std::vector<Uid> all;
  for (const auto& node : nodes)
    for (const auto name : outputs_of(node))
      all.push_back(node.tensor(name));
  return all;
}

std::string problem_of(const Graph& graph) {
  for (const auto& [uid, tensor] : graph.tensors)
    if (const auto problem = problem_of(tensor); !problem.empty())
      return "tensor " + std::to_string(uid) + " " + problem;
  std::set<Uid> written;
  for (const auto& node : graph.nodes) {
    const auto outputs = outputs_of(node);
    for (const auto& [name, uid] : node.tensors)
      if (std::ranges::find(outputs, name) == outputs.end() && graph.tensors.at(uid).is_virtual &&
          !written.contains(uid))
        return "virtual tensor " + std::to_string(uid) + " is read before it is written";
    for (const auto output : outputs) {
      const auto uid = node.tensor(output);
      if (!written.insert(uid).second)
        return "tensor " + std::to_string(uid) + " is written twice";
      if (const auto problem = problem_of_output(graph.tensors.at(uid)); !problem.empty())
        return "tensor " + std::to_string(uid) + " " + problem;
    }
    if (auto problem = problem_of(graph, node); !problem.empty())
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
  return nlohmann::json{{"emulated_engine", engine}, {"tensors", tensors}, {"nodes", nodes}}.dump();
}

bool from_text(const std::string& text, Graph& graph, std::int64_t& engine) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("emulated_engine"))
    return false;
  engine = json["emulated_engine"];
  for (const auto& t : json["tensors"])
    graph.tensors[t[0]] = {t[0], static_cast<Type>(t[1].get<int>()), t[2], t[3], t[4], t[5], t[6]};
  for (const auto& n : json["nodes"])
    graph.nodes.push_back({static_cast<cudnnBackendDescriptorType_t>(n[0].get<int>()),
                           n[1].get<std::map<int, Uid>>(),
                           n[2].get<std::map<int, std::vector<double>>>()});
  return true;
}

} // namespace emulation::cudnn
