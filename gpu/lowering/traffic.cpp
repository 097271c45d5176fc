#include "gpu/lowering/traffic.hpp"

#include "core/device/sum_over_ranks.hpp"
#include "gpu/lowering/detail/pool_shape.hpp"

#include <cmath>

namespace troupe::gpu {

double bytes_of(const Tensor& tensor, DType type) {
  return static_cast<double>(tensor.shape.elements()) * static_cast<double>(size_of(type));
}

double bytes_of(const Graph& graph, const std::vector<TensorId>& tensors) {
  double bytes = 0;
  for (const auto id : tensors)
    bytes += bytes_of(graph[id], graph[id].dtype);
  return bytes;
}

Traffic once(const Graph& graph, const Node& node) {
  return {.read = bytes_of(graph, node.inputs),
          .written = bytes_of(graph, node.outputs),
          .launches = 1};
}

Traffic once_and(const Graph& graph, const Node& node, const std::vector<TensorId>& read,
                 const std::vector<TensorId>& written, int launches) {
  auto traffic = once(graph, node);
  traffic.read += bytes_of(graph, read);
  traffic.written += bytes_of(graph, written);
  traffic.launches += launches;
  return traffic;
}

namespace {

/// The sums that one kernel writes and, after they are summed over all ranks, the next reads.
Traffic rank_sums(const Graph& graph, const Node& node) {
  if (!std::get<BatchNormAttributes>(node.attributes).synchronized)
    return {};
  const auto channels = graph[node.inputs[0]].shape.dims.back();
  const auto bytes =
      static_cast<double>(RankSums::count(static_cast<std::size_t>(channels)) * sizeof(double));
  return {.read = bytes, .written = bytes};
}

/// Statistics (with all ranks' sums, one more kernel), then the normalization.
Traffic batch_norm(const Graph& graph, const Node& node) {
  const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
  if (!attributes.training)
    return once(graph, node);
  auto traffic = once_and(graph, node, {node.inputs[0], node.outputs[1], node.outputs[2]},
                          {node.inputs[3], node.inputs[4]}, attributes.synchronized ? 2 : 1);
  return traffic += rank_sums(graph, node);
}

/// Sums, then dx. Without a residual, both kernels recompute ReLU's mask from x, scale and shift.
/// With one, the first kernel reads the mask or derives it from y; the second reads dresidual,
/// which is the whole gradient after the mask.
Traffic batch_norm_backward(const Graph& graph, const Node& node) {
  const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
  const auto dy = node.inputs[0], x = node.inputs[1], scale = node.inputs[2], mean = node.inputs[3],
             inv_std = node.inputs[4];
  const auto gradient = attributes.add ? node.outputs[3] : dy;
  Traffic traffic{.read = bytes_of(graph, {dy, x, mean, inv_std}) +
                          bytes_of(graph, {gradient, x, scale, mean, inv_std, node.outputs[1],
                                           node.outputs[2]}),
                  .written = bytes_of(graph, node.outputs),
                  .launches = 2};
  if (attributes.relu)
    traffic.read += attributes.add
                        ? bytes_of(graph, {node.inputs[5]})
                        : bytes_of(graph, {scale, scale, scale}); // shift has the size of scale
  if (attributes.add_gradient)
    traffic.read += bytes_of(graph, {node.inputs.back()});
  return traffic += rank_sums(graph, node);
}

/// Sums, then dx, each from the pooling's gradient and index.
Traffic pooled_batch_norm_backward(const Graph& graph, const Node& node) {
  const auto& index = graph[node.inputs[7]];
  const auto& in = node.inputs;
  Traffic traffic{.read = bytes_of(graph, {in[0], in[1], in[3], in[4], in[5], in[6]}) +
                          bytes_of(graph, {in[0], in[1], in[2], in[3], in[4], in[5], in[6],
                                           node.outputs[1], node.outputs[2]}),
                  .written = bytes_of(graph, node.outputs),
                  .launches = 2};
  const auto& pooled = *std::get<BatchNormAttributes>(node.attributes).pooled;
  traffic.read += 2 * bytes_of(index, pool_index_type(pooled));
  return traffic;
}

/// The graph's index is i32; the stored one may be narrower.
Traffic max_pool(const Graph& graph, const Node& node) {
  auto traffic = once(graph, node);
  const bool forward = node.op == Op::max_pool;
  const auto& index = graph[forward ? node.outputs[1] : node.inputs[1]];
  (forward ? traffic.written : traffic.read) -=
      bytes_of(index, index.dtype) - bytes_of(index, pool_index_type(node));
  return traffic;
}

/// Both factors have one type: a weight is read from its unit's copy. So is a bias that is added to
/// a result of that type.
Traffic matmul(const Graph& graph, const Node& node) {
  const auto& first = graph[node.inputs[0]];
  const auto& second = graph[node.inputs[1]];
  const auto& result = graph[node.outputs[0]];
  Traffic traffic{.read = bytes_of(first, first.dtype) + bytes_of(second, first.dtype),
                  .written = bytes_of(graph, node.outputs),
                  .operations = 2 * std::sqrt(static_cast<double>(first.shape.elements()) *
                                              static_cast<double>(second.shape.elements()) *
                                              static_cast<double>(result.shape.elements())),
                  .operation_class = products_of(first.dtype),
                  .launches = 1};
  if (node.inputs.size() == 3)
    traffic.read += bytes_of(graph[node.inputs[2]], result.dtype);
  return traffic;
}

} // namespace

Traffic cast_traffic(std::size_t elements, DType from, DType to) {
  return {.read = static_cast<double>(elements * size_of(from)),
          .written = static_cast<double>(elements * size_of(to)),
          .launches = 1};
}

Traffic traffic_of(const Graph& graph, const Node& node) {
  const auto& in = node.inputs;
  switch (node.op) {
  case Op::batch_norm:
    return batch_norm(graph, node);
  case Op::batch_norm_finalize: // reads and writes the running statistics
    return once_and(graph, node, {}, {in[4], in[5]}, 0);
  case Op::batch_norm_statistics:
    return once_and(graph, node, {}, {in[3], in[4]}, 0);
  case Op::batch_norm_backward:
    return std::get<BatchNormAttributes>(node.attributes).pooled
               ? pooled_batch_norm_backward(graph, node)
               : batch_norm_backward(graph, node);
  case Op::layer_norm_backward: // the second launch adds up partial sums
  case Op::rms_norm_backward:
    return once_and(graph, node, {}, {}, 1);
  case Op::max_pool:
  case Op::max_pool_backward:
    return max_pool(graph, node);
  case Op::matmul:
  case Op::matmul_backward_data:
  case Op::matmul_backward_weight:
    return matmul(graph, node);
  default:
    return once(graph, node);
  }
}

} // namespace troupe::gpu
