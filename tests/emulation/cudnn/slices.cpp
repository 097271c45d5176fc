#include "tests/emulation/cudnn/slices.hpp"

#include <algorithm>
#include <numeric>

namespace emulation::cudnn {

namespace {

/// Whether elements of different batches and heads stay apart, unless a tensor has fewer of them.
bool is_separate(const Node& node) {
  switch (node.type) {
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    return true;
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    return node.number(CUDNN_ATTR_POINTWISE_AXIS, 3) > 1;
  default:
    return false;
  }
}

/// A change of shape keeps them apart if it keeps their numbers.
bool is_separate(const Graph& graph, const Node& node) {
  if (node.type != CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)
    return is_separate(node);
  const auto &x = graph.at(node, CUDNN_ATTR_OPERATION_RESHAPE_XDESC).dims,
             &y = graph.at(node, CUDNN_ATTR_OPERATION_RESHAPE_YDESC).dims;
  return x[0] == y[0] && x[1] == y[1];
}

} // namespace

std::vector<Slice> slices_of(const Graph& graph) {
  std::int64_t batches = 0, groups = 0;
  for (const auto& [uid, tensor] : graph.tensors)
    if (!tensor.is_by_value) {
      batches = std::gcd(batches, tensor.dims[0]);
      groups = std::gcd(groups, tensor.dims[1]);
    }
  if (!std::ranges::all_of(graph.nodes, [&](const Node& node) { return is_separate(graph, node); }))
    return {Slice{}};
  std::vector<Slice> slices;
  for (std::int64_t batch = 0; batch < batches; ++batch)
    for (std::int64_t group = 0; group < groups; ++group)
      slices.push_back({batch, batches, group, groups});
  return slices;
}

Part part_of(const Tensor& tensor, const Slice& slice) {
  Part part{tensor.dims, 0};
  if (tensor.is_by_value)
    return part;
  part.dims[0] /= slice.batches;
  part.dims[1] /= slice.groups;
  part.first = slice.batch * part.dims[0] * tensor.strides[0] +
               slice.group * part.dims[1] * tensor.strides[1];
  return part;
}

} // namespace emulation::cudnn
