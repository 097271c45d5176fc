/// Chooses between cuDNN and the kernels of this project for attention.
#pragma once

#include "core/graph/graph.hpp"
#include "gpu/cudnn/attention.hpp"
#include "gpu/kernels/attention.hpp"
#include "gpu/lowering/plan_registry.hpp"

#include <optional>
#include <vector>

namespace troupe::gpu {

/// Shape of an attention node whose first tensor of q, k and v is `first`; `tensors`: 3, or 1 if
/// they lie side by side.
AttentionShape attention_shape(const Graph& graph, const Node& node, TensorId first,
                               std::size_t tensors);
/// Shape of causal_attention or causal_attention_backward.
AttentionShape attention_shape(const Graph& graph, const Node& node);

/// Returns the constraints on plans of attention. Engines need more workspace than those of
/// convolutions: for an fp32 gradient of q (sm_80), or for the gradients of all scores if they are
/// deterministic.
cudnn::PlanPolicy attention_policy(cudnn::PlanPolicy policy);

/// Returns the graph of causal_attention and causal_attention_backward in f16 or bf16. Empty for
/// other nodes and types, for sequences of one row, for heads of more than most_head_dim elements,
/// and if heads are not 16-byte aligned.
std::optional<cudnn::OperationGraph> attention_graph(const Graph& graph, const Node& node,
                                                     const cudnn::PlanPolicy& policy);

/// Returns those of all nodes.
std::vector<cudnn::OperationGraph> attention_graphs(const Graph& graph,
                                                    const cudnn::PlanPolicy& policy);

/// Finds the plans of these graphs, unless the registry's cuDNN is too old, or its engines may not
/// be deterministic on the GPU and must be; the registry notes that. `policy` is that of
/// convolutions.
void prepare_attention(PlanRegistry& plans, const cudnn::PlanPolicy& policy,
                       const std::vector<cudnn::OperationGraph>& graphs);

/// Returns cuDNN's plan; empty if this project's kernels compute the node: it has no graph,
/// prepare_attention() finds no plans, or no engine takes or runs it, which the registry notes.
/// `policy` is that of convolutions. Errors: out_of_memory, as PlanRegistry::plan.
Result<std::optional<TimedPlan>> attention_plan(PlanRegistry& plans,
                                                const cudnn::PlanPolicy& policy, const Graph& graph,
                                                const Node& node);

} // namespace troupe::gpu
