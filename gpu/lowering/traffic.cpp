#include "gpu/lowering/traffic.hpp"

#include "core/device/sum_over_ranks.hpp"
#include "core/fail.hpp"
#include "gpu/lowering/convolution_graph.hpp"
#include "gpu/lowering/detail/pool_shape.hpp"
#include "gpu/lowering/linear_cross_entropy.hpp"
#include "gpu/lowering/weight_gradient.hpp"

#include <cmath>

namespace troupe::gpu {

namespace {

double bytes_of(const Tensor& tensor, DType type) {
  return static_cast<double>(tensor.shape.elements()) * static_cast<double>(size_of(type));
}

double bytes_of(const Graph& graph, const std::vector<TensorId>& tensors) {
  double bytes = 0;
  for (const auto id : tensors)
    bytes += bytes_of(graph[id], graph[id].dtype);
  return bytes;
}

/// One kernel that reads all inputs and writes all outputs once.
Traffic once(const Graph& graph, const Node& node) {
  return {.read = bytes_of(graph, node.inputs),
          .written = bytes_of(graph, node.outputs),
          .launches = 1};
}

/// As above, with `launches` more kernels; these tensors are read or written once more.
Traffic once_and(const Graph& graph, const Node& node, const std::vector<TensorId>& read,
                 const std::vector<TensorId>& written, int launches) {
  auto traffic = once(graph, node);
  traffic.read += bytes_of(graph, read);
  traffic.written += bytes_of(graph, written);
  traffic.launches += launches;
  return traffic;
}

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

/// Reads only the table's rows that occur.
Traffic embedding(const Graph& graph, const Node& node) {
  const auto& y = node.outputs[0];
  return {
      .read = bytes_of(graph, {node.inputs[0], y}), .written = bytes_of(graph, {y}), .launches = 1};
}

/// Lists of rows (i32 by row and by row of the table) are cleared, written and read; ids are read
/// once.
Traffic embedding_backward(const Graph& graph, const Node& node) {
  const auto ids = bytes_of(graph, {node.inputs[1]});
  const auto lists =
      ids + static_cast<double>(graph[node.outputs[0]].shape[0]) * sizeof(std::int32_t);
  auto traffic = once(graph, node);
  traffic.read += lists;
  traffic.written += lists + ids; // each row writes one entry of the two lists
  traffic.launches = 3;
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

/// Both factors have one type: a weight is read from its unit's copy. A bias takes a second,
/// in-place launch if the result is not f32.
Traffic matmul(const Graph& graph, const Node& node) {
  const auto& first = graph[node.inputs[0]];
  const auto& second = graph[node.inputs[1]];
  const auto& result = graph[node.outputs[0]];
  Traffic traffic{.read = bytes_of(first, first.dtype) + bytes_of(second, first.dtype),
                  .written = bytes_of(result, result.dtype),
                  .operations = 2 * std::sqrt(static_cast<double>(first.shape.elements()) *
                                              static_cast<double>(second.shape.elements()) *
                                              static_cast<double>(result.shape.elements())),
                  .type = first.dtype,
                  .launches = 1};
  if (node.inputs.size() < 3)
    return traffic;
  traffic.read += bytes_of(graph, {node.inputs[2]});
  if (result.dtype != DType::f32)
    traffic += {.read = bytes_of(result, result.dtype),
                .written = bytes_of(result, result.dtype),
                .launches = 1};
  return traffic;
}

/// Operations of `products` matrix products of attention, each over the causal half of all pairs of
/// rows.
double attention_operations(const Graph& graph, const Node& node, TensorId y, double products) {
  const auto sequence = std::get<AttentionAttributes>(node.attributes).sequence;
  return products * static_cast<double>(graph[y].shape.elements() * sequence);
}

Traffic causal_attention(const Graph& graph, const Node& node) {
  auto traffic = once(graph, node);
  traffic.operations = attention_operations(graph, node, node.outputs[0], 2);
  return traffic;
}

/// Rows' keys and values are cached, then read with all earlier ones; counts as if the cache were
/// full.
Traffic cached_attention(const Graph& graph, const Node& node) {
  const auto& a = std::get<AttentionAttributes>(node.attributes);
  const auto& y = graph[node.outputs[0]];
  const auto& keys = graph[node.inputs[node.inputs.size() - 3]];
  const auto places = keys.shape[0] / (y.shape[0] / a.sequence * a.kv_heads);
  auto traffic = once(graph, node);
  traffic.written += 2.0 * static_cast<double>(y.shape[0] * a.kv_heads * a.head_dim) *
                     static_cast<double>(size_of(keys.dtype));
  traffic.operations = 4.0 * static_cast<double>(y.shape.elements() * places);
  traffic.launches = 2;
  return traffic;
}

/// The means of dy * y; then dq; then dk and dv. The last two kernels each recompute the scores and
/// their gradients.
Traffic causal_attention_backward(const Graph& graph, const Node& node) {
  const auto parts = node.outputs.size();
  const auto dy = node.inputs[0], log_sum_exp = node.inputs[parts + 2];
  const auto means = log_sum_exp; // they have its size
  std::vector<TensorId> again{dy, dy, log_sum_exp, means, means};
  again.insert(again.end(), node.inputs.begin() + 1,
               node.inputs.begin() + 1 + static_cast<std::ptrdiff_t>(parts));
  auto traffic = once_and(graph, node, again, {means}, 2);
  traffic.operations = attention_operations(graph, node, dy, 7);
  return traffic;
}

/// `products` products of all rows with the weight, which is cast once to the type of x. Each chunk
/// reads the weight and writes its logits, which the kernel that sums them reads.
Traffic logit_products(const Graph& graph, const Node& node, int products) {
  const LogitChunks shape{graph, node};
  const auto& x = graph[node.inputs[0]];
  const auto& weight = graph[node.inputs[1]];
  const auto logits = static_cast<double>(shape.rows * shape.classes) * sizeof(float);
  Traffic traffic{.read = bytes_of(x, x.dtype) + bytes_of(graph, {node.inputs[2]}) + logits +
                          static_cast<double>(shape.count()) * bytes_of(weight, x.dtype),
                  .written = logits,
                  .operations =
                      2.0 * products * static_cast<double>(shape.rows * weight.shape.elements()),
                  .type = x.dtype,
                  .launches = 2 * static_cast<int>(shape.count())};
  if (x.dtype != DType::f32)
    traffic += cast_traffic(static_cast<std::size_t>(weight.shape.elements()), DType::f32, x.dtype);
  return traffic;
}

/// One launch computes the mean: it reads the losses by row, and the labels.
Traffic linear_cross_entropy(const Graph& graph, const Node& node) {
  auto traffic = logit_products(graph, node, 1);
  const auto by_row = bytes_of(graph, {node.outputs[1]});
  traffic += {.read = 2 * by_row, .written = 2 * by_row, .launches = 1};
  return traffic;
}

/// Two products read the gradients of logits, in the type of x; each chunk except the first also
/// reads dweight. The first launch counts labels. With the loss, logits are read once more, and one
/// more launch reads the losses by row.
Traffic linear_cross_entropy_backward(const Graph& graph, const Node& node) {
  const bool loss = std::get<LossAttributes>(node.attributes).loss;
  const LogitChunks shape{graph, node};
  const auto chunks = static_cast<double>(shape.count());
  const auto& x = graph[node.inputs[0]];
  const auto& weight = graph[node.inputs[1]];
  const auto gradients =
      static_cast<double>(shape.rows * shape.classes) * static_cast<double>(size_of(x.dtype));
  const auto dweight = bytes_of(graph, {node.outputs[1]});
  const auto by_row = static_cast<double>(shape.rows) * sizeof(float);
  auto traffic = logit_products(graph, node, 3);
  if (loss)
    traffic += {.read = static_cast<double>(shape.rows * shape.classes) * sizeof(float) + by_row,
                .written = 2 * by_row,
                .launches = static_cast<int>(shape.count()) + 1};
  traffic +=
      {.read = bytes_of(graph, {node.inputs[2]}) + by_row + 2 * gradients +
               chunks * bytes_of(weight, x.dtype) + bytes_of(x, x.dtype) + (chunks - 1) * dweight,
       .written = gradients + bytes_of(x, x.dtype) + chunks * dweight,
       .launches = 2 * static_cast<int>(shape.count()) + 1};
  return traffic;
}

/// Whether input and output share memory. Without a plan every tensor has its own.
bool share_place(const MemoryPlan& memory, const Node& node) {
  if (memory.offsets.empty())
    return false;
  const auto from = memory.offsets[static_cast<std::size_t>(node.inputs[0])];
  return from != MemoryPlan::not_in_arena &&
         from == memory.offsets[static_cast<std::size_t>(node.outputs[0])];
}

} // namespace

Traffic widening_traffic(const std::vector<Traffic>& casts) {
  Traffic traffic;
  for (const auto& cast : casts)
    traffic += cast;
  traffic.launches = 1;
  return traffic;
}

Traffic cast_traffic(std::size_t elements, DType from, DType to) {
  return {.read = static_cast<double>(elements * size_of(from)),
          .written = static_cast<double>(elements * size_of(to)),
          .launches = 1};
}

Traffic traffic_of(const Graph& graph, const Node& node, const Decisions& decisions) {
  const auto& in = node.inputs;
  switch (node.op) {
  case Op::conv2d:
    return cudnn::traffic_of(forward_graph(graph, node));
  case Op::conv2d_backward_data:
    return cudnn::traffic_of(backward_data_graph(graph, node));
  case Op::conv2d_backward_weight:
    return cudnn::traffic_of(backward_weight_graph(graph, node, decisions.weight_gradient));
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
  case Op::layer_norm_backward:
    return once_and(graph, node, {in[0], in[1], in[3], in[4]}, {}, 1);
  case Op::rms_norm_backward:
    return once_and(graph, node, {in[0], in[1], in[3]}, {}, 1);
  case Op::embedding:
    return embedding(graph, node);
  case Op::embedding_backward:
    return embedding_backward(graph, node);
  case Op::causal_attention:
    return causal_attention(graph, node);
  case Op::cached_attention:
    return cached_attention(graph, node);
  case Op::causal_attention_backward:
    return causal_attention_backward(graph, node);
  case Op::linear_cross_entropy:
    return linear_cross_entropy(graph, node);
  case Op::linear_cross_entropy_backward:
    return linear_cross_entropy_backward(graph, node);
  case Op::max_pool:
  case Op::max_pool_backward:
    return max_pool(graph, node);
  case Op::matmul:
  case Op::matmul_backward_data:
  case Op::matmul_backward_weight:
    return matmul(graph, node);
  case Op::flatten:
  case Op::unflatten:
  case Op::share:
    return decisions.in_place ? Traffic{} : once(graph, node);
  default:
    return once(graph, node);
  }
}

Result<Traffic> traffic_of(const Graph& graph, const Node& node, const MemoryPlan& memory,
                           PlanRegistry* plans, const cudnn::PlanPolicy& policy) {
  Decisions decisions{.in_place = share_place(memory, node)};
  if (node.op == Op::conv2d_backward_weight) {
    TROUPE_TRY(const auto way, weight_gradient(*plans, policy, graph, node));
    decisions.weight_gradient = way.written;
  } else {
    for (const auto& convolution : convolution_graphs(graph, node))
      TROUPE_TRY(plans->plan(convolution, policy));
  }
  return traffic_of(graph, node, decisions);
}

} // namespace troupe::gpu
