// Attention through cuDNN where it has an engine (docs/cudnn-patterns.md), else through the kernels
// of this project.
#include "gpu/kernels/attention.hpp"
#include "core/fail.hpp"
#include "gpu/lowering/attention_graph.hpp"
#include "gpu/lowering/detail/plan_step.hpp"
#include "gpu/lowering/lowering.hpp"

#include <array>
#include <span>

namespace troupe::gpu {

namespace {

/// q, k and v: three tensors, or one with their columns side by side.
struct Parts {
  std::vector<TensorId> tensors;
  std::size_t q_bytes, kv_bytes; ///< per row

  Parts(const AttentionShape& shape, std::span<const TensorId> ids)
      : tensors{ids.begin(), ids.end()} {
    const auto& a = shape.attributes;
    const auto bytes = [&](std::int64_t heads) {
      return static_cast<std::size_t>(heads * a.head_dim) * size_of(shape.dtype);
    };
    q_bytes = bytes(a.heads);
    kv_bytes = bytes(a.kv_heads);
  }

  std::array<std::byte*, 3> data(const Launch& l) const {
    if (tensors.size() == 3)
      return {l.data<std::byte>(tensors[0]), l.data<std::byte>(tensors[1]),
              l.data<std::byte>(tensors[2])};
    auto* const all = l.data<std::byte>(tensors[0]);
    return {all, all + q_bytes, all + q_bytes + kv_bytes};
  }
};

/// Binds q, k and v, or their gradients.
void bind_parts(PlanStep& step, const Parts& parts, const std::array<cudnn::Uid, 3>& uids) {
  for (std::size_t i = 0; i < uids.size(); ++i)
    step.bind(uids[i], [parts, i](const Launch& launch) { return parts.data(launch)[i]; });
}

void bind_q_k_v(PlanStep& step, const Parts& parts) {
  bind_parts(step, parts,
             {cudnn::uid::attention_q, cudnn::uid::attention_k, cudnn::uid::attention_v});
}

/// Errors: unsupported if the heads are larger than a tile.
Status check_heads(const AttentionShape& shape) {
  if (shape.attributes.head_dim > AttentionShape::most_head_dim)
    return fail(Errc::unsupported,
                "CUDA devices support heads of at most {} elements, but the model has heads of {}",
                AttentionShape::most_head_dim, shape.attributes.head_dim);
  return {};
}

StepPtr forward_by_cudnn(const Node& node, TimedPlan plan, const Parts& parts) {
  auto step = std::make_unique<PlanStep>(node, std::move(plan));
  bind_q_k_v(*step, parts);
  step->bind(cudnn::uid::attention_y, node.outputs[0]);
  step->bind(cudnn::uid::attention_log_sum_exp, node.outputs[1]);
  return step;
}

StepPtr backward_by_cudnn(const Node& node, TimedPlan plan, const Parts& inputs,
                          const Parts& gradients) {
  auto step = std::make_unique<PlanStep>(node, std::move(plan));
  const auto parts = inputs.tensors.size();
  bind_q_k_v(*step, inputs);
  step->bind(cudnn::uid::attention_dy, node.inputs[0]);
  step->bind(cudnn::uid::attention_y, node.inputs[parts + 1]);
  step->bind(cudnn::uid::attention_log_sum_exp, node.inputs[parts + 2]);
  bind_parts(*step, gradients,
             {cudnn::uid::attention_dq, cudnn::uid::attention_dk, cudnn::uid::attention_dv});
  return step;
}

} // namespace

Result<StepPtr> lower_causal_attention(Lowering& lowering, const Node& node) {
  const auto shape = attention_shape(lowering.graph, node);
  TROUPE_TRY(check_heads(shape));
  const Parts parts{shape, node.inputs};
  TROUPE_TRY(auto plan, lowering.attention(node));
  if (plan)
    return forward_by_cudnn(node, std::move(*plan), parts);
  return kernel_step(node, [shape, parts](const NodeLaunch& l) {
    const auto [q, k, v] = parts.data(l);
    launch_causal_attention(
        l.stream, shape, {.q = q, .k = k, .v = v, .y = l.out(0), .log_sum_exp = l.out<float>(1)});
  });
}

Result<StepPtr> lower_cached_attention(Lowering& lowering, const Node& node) {
  const auto cached = node.inputs.size() - 3;
  const auto shape = attention_shape(lowering.graph, node, node.inputs[0], cached);
  TROUPE_TRY(check_heads(shape));
  const auto places =
      lowering.input(node, cached).shape[0] / (shape.sequences * shape.attributes.kv_heads);
  const Parts parts{shape, std::span{node.inputs}.first(cached)};
  return kernel_step(node, [shape, places, cached, parts](const NodeLaunch& l) {
    const auto [q, k, v] = parts.data(l);
    launch_cached_attention(l.stream, shape,
                            {.q = q,
                             .k = k,
                             .v = v,
                             .keys = l.in<float>(cached),
                             .values = l.in<float>(cached + 1),
                             .first = l.in<std::int32_t>(cached + 2),
                             .places = places,
                             .y = l.out(0)});
  });
}

Result<StepPtr> lower_causal_attention_backward(Lowering& lowering, const Node& node) {
  const auto parts = node.outputs.size();
  const auto shape = attention_shape(lowering.graph, node);
  TROUPE_TRY(check_heads(shape));
  const Parts inputs{shape, std::span{node.inputs}.subspan(1, parts)};
  const Parts gradients{shape, node.outputs};
  TROUPE_TRY(auto plan, lowering.attention(node));
  if (plan)
    return backward_by_cudnn(node, std::move(*plan), inputs, gradients);
  const auto mean_bytes =
      static_cast<std::size_t>(shape.rows() * shape.attributes.heads) * sizeof(float);
  return kernel_step(node, mean_bytes, [shape, parts, inputs, gradients](const NodeLaunch& l) {
    const auto [q, k, v] = inputs.data(l);
    const auto [dq, dk, dv] = gradients.data(l);
    launch_causal_attention_backward(l.stream, shape,
                                     {.dy = l.in(0),
                                      .q = q,
                                      .k = k,
                                      .v = v,
                                      .y = l.in(parts + 1),
                                      .log_sum_exp = l.in<float>(parts + 2),
                                      .means = reinterpret_cast<float*>(l.workspace()),
                                      .dq = dq,
                                      .dk = dk,
                                      .dv = dv});
  });
}

} // namespace troupe::gpu
