// Convolutions through cuDNN, with what its engines fuse into them (docs/cudnn-patterns.md).
#include "core/fail.hpp"
#include "gpu/lowering/convolution_graph.hpp"
#include "gpu/lowering/detail/plan_step.hpp"
#include "gpu/lowering/lowering.hpp"
#include "gpu/lowering/weight_gradient.hpp"

#include <utility>
#include <vector>

namespace troupe::gpu {

namespace uid = cudnn::uid;

namespace {

/// Creates a step that reads the node's weight.
Result<std::unique_ptr<PlanStep>> make_step(Lowering& lowering, const Node& node,
                                            const cudnn::OperationGraph& graph) {
  TROUPE_TRY(auto plan, lowering.plans->plan(graph, lowering.policy));
  auto step = std::make_unique<PlanStep>(node, std::move(plan));
  const auto weight = lowering.view_weight(node.inputs[1], lowering.input(node, 0).dtype);
  step->bind(uid::w, [weight](const Launch& launch) { return weight.data(launch); });
  return step;
}

/// Binds the uids to consecutive inputs, or outputs, from `first` on.
void bind_all(PlanStep& step, const std::vector<TensorId>& tensors, std::size_t first,
              std::initializer_list<cudnn::Uid> uids, cudnn::Uid offset = 0) {
  for (const auto uid : uids)
    step.bind(uid + offset, tensors[first++]);
}

/// Binds factor, offset and residual of the convolution's input.
void bind_prologue(PlanStep& step, const Node& node, Residual residual) {
  bind_all(step, node.inputs, 2, {uid::scale, uid::bias});
  if (residual == Residual::none)
    return;
  step.bind(uid::dual_x, node.inputs[4]);
  if (residual == Residual::normalized)
    bind_all(step, node.inputs, 5, {uid::dual_scale, uid::dual_bias});
  step.bind(uid::activation, node.outputs.back());
}

/// Binds a batch norm whose mask and sums backward data computes: five inputs and five outputs.
void bind_batch_norm(PlanStep& step, const Node& node, std::size_t first_input,
                     std::size_t first_output, cudnn::Uid offset) {
  bind_all(step, node.inputs, first_input,
           {uid::bn_x, uid::bn_scale, uid::bn_bias, uid::bn_mean, uid::bn_inv_std}, offset);
  bind_all(step, node.outputs, first_output, {uid::dscale, uid::dbias, uid::a, uid::b, uid::c},
           offset);
}

} // namespace

Result<StepPtr> lower_conv2d(Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<Conv2dAttributes>(node.attributes);
  if (attributes.bias)
    return fail(Errc::unsupported, "CUDA devices do not support convolutions with a bias ({})",
                lowering.graph[node.outputs[0]].name);
  TROUPE_TRY(auto step, make_step(lowering, node, forward_graph(lowering.graph, node)));
  step->bind(uid::x, node.inputs[0]);
  step->bind(uid::y, node.outputs[0]);
  if (attributes.prologue)
    bind_prologue(*step, node, attributes.residual);
  if (attributes.statistics)
    bind_all(*step, node.outputs, 1, {uid::sum, uid::square_sum});
  return StepPtr{std::move(step)};
}

Result<StepPtr> lower_conv2d_backward_data(Lowering& lowering, const Node& node) {
  TROUPE_TRY(auto step, make_step(lowering, node, backward_data_graph(lowering.graph, node)));
  step->bind(uid::dy, node.inputs[0]);
  step->bind(uid::dx, node.outputs[0]);
  const auto& attributes = std::get<Conv2dAttributes>(node.attributes);
  if (attributes.batch_norm_relu)
    bind_batch_norm(*step, node, 2, 1, 0);
  if (attributes.residual == Residual::plain)
    step->bind(uid::shortcut, node.inputs[7]);
  if (attributes.residual == Residual::normalized)
    bind_batch_norm(*step, node, 7, 6, uid::dual_offset);
  if (attributes.add_gradient)
    step->bind(uid::other_dx, node.inputs.back());
  return StepPtr{std::move(step)};
}

Result<StepPtr> lower_conv2d_backward_weight(Lowering& lowering, const Node& node) {
  TROUPE_TRY(auto way, weight_gradient(*lowering.plans, lowering.policy, lowering.graph, node));
  auto step = std::make_unique<PlanStep>(node, std::move(way.plan));
  step->bind(uid::x, node.inputs[1]);
  step->bind(uid::dy, node.inputs[0]);
  if (std::get<Conv2dAttributes>(node.attributes).prologue)
    bind_prologue(*step, node, Residual::none);
  if (way.written == DType::f32) {
    step->bind(uid::dw, node.outputs[0]);
  } else {
    const auto offset = lowering.narrow_gradients[static_cast<std::size_t>(node.unit)].add(
        node.outputs[0], weight_gradient_elements(lowering.graph, node), way.written);
    lowering.summed.insert(node.outputs[0]);
    step->bind(uid::dw, [offset](const Launch& launch) { return launch.staging + offset; });
  }
  return StepPtr{std::move(step)};
}

} // namespace troupe::gpu
