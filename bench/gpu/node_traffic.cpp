#include "bench/gpu/node_traffic.hpp"

#include "core/fail.hpp"
#include "gpu/kernels/embedding.hpp"
#include "gpu/lowering/attention_graph.hpp"
#include "gpu/lowering/convolution_graph.hpp"
#include "gpu/lowering/linear_cross_entropy.hpp"
#include "gpu/lowering/traffic.hpp"
#include "gpu/lowering/weight_gradient.hpp"

#include <cmath>
#include <optional>
#include <utility>

namespace troupe::bench {

namespace {

using gpu::bytes_of;
using gpu::cast_traffic;
using gpu::LogitChunks;
using gpu::once;
using gpu::once_and;
using gpu::Traffic;

/// Reads only the table's rows that occur.
Traffic embedding(const Graph& graph, const Node& node) {
  const auto& y = node.outputs[0];
  return {
      .read = bytes_of(graph, {node.inputs[0], y}), .written = bytes_of(graph, {y}), .launches = 1};
}

/// Lists of rows (i32 by row and by row of the table) are cleared, written and read; ids are read
/// once, and again for each frequent id, which is not counted.
Traffic embedding_backward(const Graph& graph, const Node& node) {
  const auto ids = bytes_of(graph, {node.inputs[1]});
  const auto lists =
      ids + static_cast<double>(graph[node.outputs[0]].shape[0]) * sizeof(std::int32_t);
  auto traffic = once(graph, node);
  traffic.read += lists;
  traffic.written += lists + ids; // each row writes one entry of the two lists
  const gpu::EmbeddingShape shape{.rows = graph[node.inputs[0]].shape[0]};
  traffic.launches = shape.most_frequent_ids() > 0 ? 4 : 3;
  return traffic;
}

/// Operations of `products` matrix products of attention, each over the causal half of all pairs of
/// rows.
double attention_operations(const Graph& graph, const Node& node, TensorId y, double products) {
  const auto sequence = std::get<AttentionAttributes>(node.attributes).sequence;
  return products * static_cast<double>(graph[y].shape.elements() * sequence);
}

/// Returns the graph with which cuDNN computes attention; empty if kernels of this project do. The
/// engines for a described GPU cannot be searched without a driver: counts them as found, because
/// they take all shapes that have a graph (docs/cudnn-patterns.md).
Result<std::optional<gpu::cudnn::OperationGraph>>
attention_by_cudnn(const Graph& graph, const Node& node, gpu::PlanRegistry* plans,
                   const CompileOptions& options) {
  if (!plans || !options.fused_attention)
    return std::nullopt;
  const auto policy = gpu::policy_of(options);
  auto operations = gpu::attention_graph(graph, node, policy);
  if (plans->target().handle() == nullptr)
    return operations;
  TROUPE_TRY(const auto plan, gpu::attention_plan(*plans, policy, graph, node));
  return plan ? std::move(operations) : std::nullopt;
}

Traffic causal_attention(const Graph& graph, const Node& node) {
  auto traffic = once(graph, node);
  traffic.operations = attention_operations(graph, node, node.outputs[0], 2);
  traffic.operation_class = gpu::OperationClass::attention;
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
  traffic.operation_class = gpu::OperationClass::attention;
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
  traffic.operation_class = gpu::OperationClass::attention_backward;
  return traffic;
}

/// `products` products of all rows with the weight, which is cast once to the type of x if it
/// exists only as an f32 activation. Each chunk reads the weight and writes its logits, which one
/// kernel reads.
Traffic logit_products(const Graph& graph, const Node& node, int products) {
  const LogitChunks shape{graph, node};
  const auto& x = graph[node.inputs[0]];
  const auto& weight = graph[node.inputs[1]];
  const auto logits =
      static_cast<double>(shape.rows * shape.classes) * static_cast<double>(size_of(x.dtype));
  Traffic traffic{.read = bytes_of(x, x.dtype) + bytes_of(graph, {node.inputs[2]}) + logits +
                          static_cast<double>(shape.count()) * bytes_of(weight, x.dtype),
                  .written = logits,
                  .operations =
                      2.0 * products * static_cast<double>(shape.rows * weight.shape.elements()),
                  .operation_class = gpu::products_of(x.dtype),
                  .launches = 2 * static_cast<int>(shape.count())};
  if (weight.role != Role::parameter && weight.dtype != x.dtype)
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

/// The kernel that reads the logits overwrites them with their gradients, which two products read;
/// each chunk except the first also reads dweight. The first launch counts labels. With the loss,
/// one more launch reads the losses by row.
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
    traffic += {.read = by_row, .written = by_row, .launches = 1};
  else
    traffic.read += by_row; // log_sum_exp
  traffic +=
      {.read = bytes_of(graph, {node.inputs[2]}) + 2 * gradients +
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

/// Returns the traffic of a convolution's plan.
Result<Traffic> convolution(const Graph& graph, const Node& node, gpu::PlanRegistry& plans,
                            const gpu::cudnn::PlanPolicy& policy) {
  if (node.op == Op::conv2d_backward_weight) {
    TROUPE_TRY(const auto way, gpu::weight_gradient(plans, policy, graph, node));
    return traffic_of(gpu::backward_weight_graph(graph, node, way.written));
  }
  const auto operations = node.op == Op::conv2d ? gpu::forward_graph(graph, node)
                                                : gpu::backward_data_graph(graph, node);
  TROUPE_TRY(plans.plan(operations, policy));
  return traffic_of(operations);
}

} // namespace

Result<Traffic> node_traffic(const Graph& graph, const Node& node, const MemoryPlan& memory,
                             gpu::PlanRegistry* plans, const CompileOptions& options) {
  switch (node.op) {
  case Op::conv2d:
  case Op::conv2d_backward_data:
  case Op::conv2d_backward_weight:
    return convolution(graph, node, *plans, gpu::policy_of(options));
  case Op::embedding:
    return embedding(graph, node);
  case Op::embedding_backward:
    return embedding_backward(graph, node);
  case Op::causal_attention:
  case Op::causal_attention_backward: {
    TROUPE_TRY(const auto operations, attention_by_cudnn(graph, node, plans, options));
    if (operations)
      return traffic_of(*operations);
    return node.op == Op::causal_attention ? causal_attention(graph, node)
                                           : causal_attention_backward(graph, node);
  }
  case Op::cached_attention:
    return cached_attention(graph, node);
  case Op::linear_cross_entropy:
    return linear_cross_entropy(graph, node);
  case Op::linear_cross_entropy_backward:
    return linear_cross_entropy_backward(graph, node);
  case Op::flatten:
  case Op::unflatten:
  case Op::share:
    return share_place(memory, node) ? Traffic{} : once(graph, node);
  default:
    return gpu::traffic_of(graph, node);
  }
}

Result<std::map<std::string, Traffic>>
widening_traffic(const Graph& graph, gpu::PlanRegistry* plans, const CompileOptions& options) {
  const auto policy = gpu::policy_of(options);
  std::map<std::string, Traffic> units;
  for (const auto& node : graph.nodes) {
    if (node.op != Op::conv2d_backward_weight)
      continue;
    TROUPE_TRY(const auto way, gpu::weight_gradient(*plans, policy, graph, node));
    if (way.written == DType::f32)
      continue;
    auto& traffic = units[graph.units[static_cast<std::size_t>(node.unit)]];
    traffic += cast_traffic(gpu::weight_gradient_elements(graph, node), way.written, DType::f32);
    traffic.launches = 1;
  }
  return units;
}

} // namespace troupe::bench
