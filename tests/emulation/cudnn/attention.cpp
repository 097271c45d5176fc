#include "tests/emulation/cudnn/attention.hpp"

#include <algorithm>

namespace emulation::cudnn {

namespace {

constexpr std::int64_t most_head_dim = 128;

std::string name_of(cudnnPointwiseMode_t mode) {
  switch (mode) {
  case CUDNN_POINTWISE_IDENTITY:
    return "copy ";
  case CUDNN_POINTWISE_ADD:
    return "add ";
  case CUDNN_POINTWISE_SUB:
    return "subtract ";
  case CUDNN_POINTWISE_MUL:
    return "scale ";
  case CUDNN_POINTWISE_DIV:
    return "divide ";
  case CUDNN_POINTWISE_EXP:
    return "exp ";
  case CUDNN_POINTWISE_LOG:
    return "log ";
  case CUDNN_POINTWISE_GEN_INDEX:
    return "index ";
  case CUDNN_POINTWISE_CMP_GE:
    return "compare ";
  case CUDNN_POINTWISE_BINARY_SELECT:
    return "select ";
  default:
    return "other ";
  }
}

std::string name_of(const Node& node) {
  switch (node.type) {
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    return "matmul ";
  case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    return "transpose ";
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    return node.number<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR) ==
                   CUDNN_REDUCE_TENSOR_MAX
               ? "max "
               : "sum ";
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    return name_of(node.number<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE));
  default:
    return "other ";
  }
}

std::string names_of(const Graph& graph) {
  std::string names;
  for (const auto& node : graph.nodes)
    names += name_of(node);
  return names;
}

constexpr const char* mask = "index index compare select ";

std::string forward_names() {
  return std::string("matmul scale ") + mask + "max subtract exp sum log add divide matmul ";
}

/// `shared`: heads share keys and values, whose gradients are sums over heads.
std::string backward_names(bool shared, bool deterministic) {
  const std::string product = shared ? "transpose matmul sum " : "transpose matmul ";
  return std::string("scale sum scale matmul scale subtract ") + mask + "exp " + product +
         "matmul subtract scale scale " + product + "transpose matmul " +
         (deterministic ? "" : "copy ");
}

/// Returns the first matrix product's operation: q times the transpose of k.
const Node* scores_of(const Graph& graph) {
  const auto found =
      std::ranges::find(graph.nodes, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, &Node::type);
  return found != graph.nodes.end() ? &*found : nullptr;
}

/// Whether the tensors with memory are in `type`, except statistics and sums in f32.
bool has_type(const Graph& graph, Type type) {
  return std::ranges::all_of(graph.tensors, [type](const auto& entry) {
    const auto& tensor = entry.second;
    return !tensor.has_memory() || tensor.type == type || tensor.type == Type::f32;
  });
}

/// Whether f32 tensors with memory have no gaps.
bool has_packed_statistics(const Graph& graph) {
  return std::ranges::all_of(graph.tensors, [](const auto& entry) {
    const auto& tensor = entry.second;
    return !tensor.has_memory() || tensor.type != Type::f32 ||
           same_places(tensor.dims, tensor.strides, row_major(tensor.dims));
  });
}

} // namespace

std::optional<AttentionGraph> attention_of(const Graph& graph) {
  const auto* const scores = scores_of(graph);
  if (!scores)
    return std::nullopt;
  const auto &q = graph.at(*scores, CUDNN_ATTR_OPERATION_MATMUL_ADESC),
             &k = graph.at(*scores, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
  const bool shared = q.dims[1] != k.dims[1];
  const auto names = names_of(graph);
  const bool deterministic = names == backward_names(shared, true),
             backward = deterministic || names == backward_names(shared, false);
  if ((names != forward_names() && !backward) || q.type == Type::f32 || !has_type(graph, q.type))
    return std::nullopt;
  if (q.dims[3] % 8 != 0 || q.dims[3] > most_head_dim ||
      (backward && !has_packed_statistics(graph)))
    return std::nullopt;
  return AttentionGraph{backward,  deterministic, q.type,   q.dims[0],
                        q.dims[1], q.dims[2],     q.dims[3]};
}

} // namespace emulation::cudnn
