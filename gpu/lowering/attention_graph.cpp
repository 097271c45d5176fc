#include "gpu/lowering/attention_graph.hpp"

#include "core/fail.hpp"
#include "gpu/lowering/detail/cudnn_type.hpp"

#include <cmath>
#include <utility>

namespace troupe::gpu {

namespace {

/// cudnn-frontend refuses 9.10.0 and 9.10.1 because of known bugs, and works around one up to 9.15
/// for sequences that are not a multiple of 128.
constexpr std::size_t first_version = 91600;

/// Engines read 16 bytes at a time; tensors begin at multiples of tensor_alignment. Heuristics also
/// propose engines for heads that are too large for them.
bool engines_can_read(const AttentionShape& shape) {
  const auto& a = shape.attributes;
  return shape.dtype != DType::f32 && a.sequence > 1 && a.head_dim % 8 == 0 &&
         a.head_dim <= AttentionShape::most_head_dim;
}

/// With cudnn-frontend, backward engines of sm_100 and sm_103 are deterministic only with settings
/// that heuristics do not propose.
bool may_differ_by_run(const PlanRegistry& plans, const cudnn::PlanPolicy& policy) {
  constexpr int blackwell = 10; // major version of the compute capability
  return policy.deterministic && plans.target().sm() / 10 == blackwell;
}

/// Whether the registry's cuDNN may compute attention on its GPU; notes the reason if not.
bool may_use(PlanRegistry& plans, const cudnn::PlanPolicy& policy) {
  const auto version = plans.target().library().version();
  if (version < first_version)
    plans.note(fmt::format("attention uses troupe's kernels: it needs cuDNN {}, and this is {}",
                           first_version, version));
  const bool differs = may_differ_by_run(plans, policy);
  if (differs)
    plans.note("attention uses troupe's kernels: cuDNN's may not be deterministic on this GPU");
  return version >= first_version && !differs;
}

bool is_differentiated(const Node& node) {
  return node.op == Op::causal_attention_backward;
}

cudnn::AttentionProblem problem_of(const AttentionShape& shape) {
  const auto& a = shape.attributes;
  return {.batch = shape.sequences,
          .heads = a.heads,
          .kv_heads = a.kv_heads,
          .sequence = a.sequence,
          .head_dim = a.head_dim,
          .q_distance = shape.q_distance,
          .kv_distance = shape.kv_distance,
          .scale = 1 / std::sqrt(static_cast<float>(a.head_dim)),
          .type = cudnn_type(shape.dtype)};
}

} // namespace

AttentionShape attention_shape(const Graph& graph, const Node& node, TensorId first,
                               std::size_t tensors) {
  const auto& a = std::get<AttentionAttributes>(node.attributes);
  const auto& x = graph[first];
  const auto q = a.heads * a.head_dim, kv = a.kv_heads * a.head_dim;
  const bool in_one = tensors == 1;
  return {.attributes = a,
          .dtype = x.dtype,
          .sequences = x.shape[0] / a.sequence,
          .q_distance = in_one ? q + 2 * kv : q,
          .kv_distance = in_one ? q + 2 * kv : kv};
}

AttentionShape attention_shape(const Graph& graph, const Node& node) {
  return is_differentiated(node) ? attention_shape(graph, node, node.inputs[1], node.outputs.size())
                                 : attention_shape(graph, node, node.inputs[0], node.inputs.size());
}

cudnn::PlanPolicy attention_policy(cudnn::PlanPolicy policy) {
  policy.workspace_bytes = std::size_t{2} << 30;
  return policy;
}

std::optional<cudnn::OperationGraph> attention_graph(const Graph& graph, const Node& node,
                                                     const cudnn::PlanPolicy& policy) {
  if (node.op != Op::causal_attention && node.op != Op::causal_attention_backward)
    return std::nullopt;
  const auto shape = attention_shape(graph, node);
  if (!engines_can_read(shape))
    return std::nullopt;
  return is_differentiated(node)
             ? cudnn::attention_backward(problem_of(shape), policy.deterministic)
             : cudnn::attention_forward(problem_of(shape));
}

std::vector<cudnn::OperationGraph> attention_graphs(const Graph& graph,
                                                    const cudnn::PlanPolicy& policy) {
  std::vector<cudnn::OperationGraph> all;
  for (const auto& node : graph.nodes)
    if (auto operations = attention_graph(graph, node, policy))
      all.push_back(std::move(*operations));
  return all;
}

void prepare_attention(PlanRegistry& plans, const cudnn::PlanPolicy& policy,
                       const std::vector<cudnn::OperationGraph>& graphs) {
  if (may_use(plans, policy))
    plans.prepare(graphs, attention_policy(policy));
}

Result<std::optional<TimedPlan>> attention_plan(PlanRegistry& plans,
                                                const cudnn::PlanPolicy& policy, const Graph& graph,
                                                const Node& node) {
  const auto operations = attention_graph(graph, node, policy);
  if (!operations || !may_use(plans, policy))
    return std::nullopt;
  auto plan = plans.plan(*operations, attention_policy(policy));
  if (plan)
    return std::optional{std::move(*plan)};
  if (plan.error().code != Errc::unsupported && plan.error().code != Errc::device)
    return failure(std::move(plan).error());
  plans.note(fmt::format("attention uses troupe's kernels: {}", plan.error().message));
  return std::nullopt;
}

} // namespace troupe::gpu
