#include "tests/emulation/cudnn/checks.hpp"

#include "tests/emulation/cudnn/pointwise.hpp"

#include <algorithm>

namespace emulation::cudnn {

namespace {

bool has_only_positive(const Dims& numbers) {
  return std::ranges::all_of(numbers, [](std::int64_t number) { return number > 0; });
}

/// Whether axes of size 1 repeated give `dims`.
bool broadcasts_to(const Dims& from, const Dims& dims) {
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    if (from[axis] != 1 && from[axis] != dims[axis])
      return false;
  return true;
}

Dims larger(Dims a, const Dims& b) {
  for (std::size_t axis = 0; axis < a.size(); ++axis)
    a[axis] = std::max(a[axis], b[axis]);
  return a;
}

/// Returns the names of the tensors that a pointwise operation with this number of inputs reads.
std::vector<cudnnBackendAttributeName_t> input_names(int count, bool backward) {
  std::vector<cudnnBackendAttributeName_t> names{CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                                 backward ? CUDNN_ATTR_OPERATION_POINTWISE_DYDESC
                                                          : CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                                 CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  names.resize(static_cast<std::size_t>(count));
  return names;
}

std::string problem_of_types(const Graph& graph, const Node& node, cudnnPointwiseMode_t mode,
                             const Tensor& y) {
  if (is_comparison(mode) != (y.type == Type::boolean))
    return "a comparison whose result is not boolean, or another boolean result";
  if (mode == CUDNN_POINTWISE_BINARY_SELECT &&
      graph.at(node, CUDNN_ATTR_OPERATION_POINTWISE_TDESC).type != Type::boolean)
    return "a selection by a tensor that is not boolean";
  const auto axis = node.number<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS, -1);
  return mode == CUDNN_POINTWISE_GEN_INDEX && (axis < 0 || axis > 3) ? "the axis of an index" : "";
}

std::string problem_of_pointwise(const Graph& graph, const Node& node) {
  const auto mode = node.number<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  const int count = inputs_of(mode);
  const bool backward = mode == CUDNN_POINTWISE_RELU_BWD;
  if (count == 0)
    return "the mode of a pointwise operation";
  const auto inputs = input_names(count, backward);
  auto names = inputs;
  names.push_back(backward ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC
                           : CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  if (node.tensors.size() != names.size() ||
      !std::ranges::all_of(names, [&](auto name) { return node.has(name); }))
    return "the operands of a pointwise operation";
  const auto& y = graph.at(node, names.back());
  Dims largest{1, 1, 1, 1};
  for (const auto name : inputs) {
    const auto& dims = graph.at(node, name).dims;
    if (!broadcasts_to(dims, y.dims))
      return "the shape of an operand of a pointwise operation";
    largest = larger(largest, dims);
  }
  return largest == y.dims ? problem_of_types(graph, node, mode, y)
                           : "the shape of a pointwise operation's result";
}

} // namespace

std::string problem_of(const Tensor& tensor) {
  if (!has_only_positive(tensor.dims) || !has_only_positive(tensor.strides))
    return "has a dimension or a stride that is not positive";
  if (tensor.alignment < 1 || tensor.alignment % static_cast<std::int64_t>(size_of(tensor.type)))
    return "has an alignment that is no multiple of its type's size";
  if (tensor.is_by_value && (tensor.is_virtual || elements_of(tensor.dims) != 1))
    return "is passed by value, but virtual or not a single number";
  if (tensor.has_memory() && (tensor.type == Type::i32 || tensor.type == Type::boolean))
    return "is not virtual and has a type that is not emulated";
  return "";
}

std::string problem_of_output(const Tensor& tensor) {
  if (tensor.is_by_value)
    return "is written, but passed by value";
  return tensor.has_memory() && overlaps_itself(tensor.dims, tensor.strides)
             ? "is written, and two of its elements have one place"
             : "";
}

std::string problem_of(const Graph& graph, const Node& node) {
  switch (node.type) {
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    return problem_of_pointwise(graph, node);
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
  case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    return problem_of_matrix_node(graph, node);
  default:
    return problem_of_image_node(graph, node);
  }
}

} // namespace emulation::cudnn
