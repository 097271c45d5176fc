#include "tests/emulation/cudnn/checks.hpp"

#include <algorithm>

namespace emulation::cudnn {

namespace {

/// Whether rows or columns lie side by side.
bool has_packed_rows(const Tensor& tensor) {
  return tensor.is_virtual || tensor.strides[2] == 1 || tensor.strides[3] == 1;
}

/// Sizes of batch axes may be factors of the result's: heads can share a matrix.
std::string problem_of_matmul(const Graph& graph, const Node& node) {
  const auto &a = graph.at(node, CUDNN_ATTR_OPERATION_MATMUL_ADESC),
             &b = graph.at(node, CUDNN_ATTR_OPERATION_MATMUL_BDESC),
             &c = graph.at(node, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  if (c.dims[2] != a.dims[2] || c.dims[3] != b.dims[3] || a.dims[3] != b.dims[2])
    return "the shapes of a matrix product";
  for (const auto axis : {0u, 1u})
    if (c.dims[axis] != std::max(a.dims[axis], b.dims[axis]) || c.dims[axis] % a.dims[axis] != 0 ||
        c.dims[axis] % b.dims[axis] != 0)
      return "the batches of a matrix product";
  return has_packed_rows(a) && has_packed_rows(b) && has_packed_rows(c)
             ? ""
             : "a matrix whose rows and columns both have gaps";
}

/// An axis stays, or its elements become one; heads become groups of heads, too.
std::string problem_of_reduction(const Graph& graph, const Node& node) {
  const auto& x = graph.at(node, CUDNN_ATTR_OPERATION_REDUCTION_XDESC).dims;
  const auto& y = graph.at(node, CUDNN_ATTR_OPERATION_REDUCTION_YDESC).dims;
  const auto mode = node.number<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
  if (mode != CUDNN_REDUCE_TENSOR_ADD && mode != CUDNN_REDUCE_TENSOR_MAX)
    return "the operator of a reduction";
  for (const auto axis : {0u, 1u, 2u, 3u})
    if (y[axis] != x[axis] && y[axis] != 1 && (axis != 1 || x[axis] % y[axis] != 0))
      return "the shapes of a reduction";
  return "";
}

std::string problem_of_reshape(const Graph& graph, const Node& node) {
  const auto elements = [&](cudnnBackendAttributeName_t name) {
    return elements_of(graph.at(node, name).dims);
  };
  return elements(CUDNN_ATTR_OPERATION_RESHAPE_XDESC) ==
                 elements(CUDNN_ATTR_OPERATION_RESHAPE_YDESC)
             ? ""
             : "the shapes of a reshape";
}

} // namespace

std::string problem_of_matrix_node(const Graph& graph, const Node& node) {
  switch (node.type) {
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    return problem_of_matmul(graph, node);
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    return problem_of_reduction(graph, node);
  default:
    return problem_of_reshape(graph, node);
  }
}

} // namespace emulation::cudnn
