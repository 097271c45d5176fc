// Convolutions through cuDNN, with what its engines fuse to them (docs/cudnn-patterns.md).
#include "convolution_graph.hpp"
#include "lowering.hpp"
#include "weight_gradient.hpp"

#include "../kernels/flat.hpp"
#include "troupe/core/fail.hpp"

#include <vector>

namespace troupe::gpu {

namespace uid = cudnn::uid;

namespace {

/// One plan, and which tensors it takes under which names.
class ConvolutionStep : public Step {
public:
  ConvolutionStep(const Node& node, TimedPlan plan)
      : target_{*plan.target}, plan_{std::move(plan.plan)} {
    name = fmt::format("{} {}", to_string(node.op), plan_->tag());
  }

  void bind(cudnn::Uid uid, TensorId tensor) { tensors_.push_back({uid, tensor}); }
  void bind(cudnn::Uid uid, const WeightView& weight) { weights_.push_back({uid, weight}); }
  /// A per-channel f32 tensor that the plan wants in the type of activations.
  void bind_narrowed(cudnn::Uid uid, TensorId tensor, std::int64_t channels, DType type) {
    narrowed_.push_back({uid, tensor, static_cast<std::size_t>(channels), type});
  }
  /// In Launch::staging.
  void bind_staged(cudnn::Uid uid, std::size_t offset) { staged_.push_back({uid, offset}); }

  std::size_t workspace_bytes() const override {
    std::size_t bytes = aligned(plan_->workspace_bytes());
    for (const auto& converted : narrowed_)
      bytes += aligned(converted.elements * size_of(converted.type));
    return bytes;
  }

  Status enqueue(const Launch& launch) override {
    std::vector<cudnn::Binding> bindings;
    for (const auto& [uid, tensor] : tensors_)
      bindings.push_back({uid, launch.data(tensor)});
    for (const auto& [uid, weight] : weights_)
      bindings.push_back({uid, weight.data(launch)});
    auto* at = launch.workspace() + aligned(plan_->workspace_bytes());
    for (const auto& c : narrowed_) {
      launch_cast(launch.stream, launch.data(c.tensor), DType::f32, at, c.type, c.elements);
      bindings.push_back({c.uid, at});
      at += aligned(c.elements * size_of(c.type));
    }
    for (const auto& [uid, offset] : staged_)
      bindings.push_back({uid, launch.staging + offset});
    TROUPE_TRY(target_.use_stream(launch.stream));
    return plan_->execute(target_, bindings, launch.workspace());
  }

private:
  struct Converted {
    cudnn::Uid uid;
    TensorId tensor;
    std::size_t elements;
    DType type;
  };

  const cudnn::Target& target_;
  std::shared_ptr<const cudnn::Plan> plan_;
  std::vector<std::pair<cudnn::Uid, TensorId>> tensors_;
  std::vector<std::pair<cudnn::Uid, WeightView>> weights_;
  std::vector<Converted> narrowed_;
  std::vector<std::pair<cudnn::Uid, std::size_t>> staged_;
};

/// A step that reads the node's weight.
Result<std::unique_ptr<ConvolutionStep>> make_step(Lowering& lowering, const Node& node,
                                                   const cudnn::OperationGraph& graph) {
  TROUPE_TRY(auto plan, lowering.plans->plan(graph, lowering.policy));
  auto step = std::make_unique<ConvolutionStep>(node, std::move(plan));
  step->bind(uid::w, lowering.view_weight(node.inputs[1], lowering.input(node, 0).dtype));
  return step;
}

/// Factor and offset of what the convolution reads.
void bind_prologue(ConvolutionStep& step, const Node& node, const Tensor& x) {
  step.bind_narrowed(uid::scale, node.inputs[2], x.shape[3], x.dtype);
  step.bind_narrowed(uid::bias, node.inputs[3], x.shape[3], x.dtype);
}

} // namespace

Result<StepPtr> lower_conv2d(Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<Conv2dAttributes>(node.attributes);
  TROUPE_TRY(auto step, make_step(lowering, node, forward_graph(lowering.graph, node)));
  step->bind(uid::x, node.inputs[0]);
  step->bind(uid::y, node.outputs[0]);
  if (attributes.prologue)
    bind_prologue(*step, node, lowering.input(node, 0));
  if (attributes.statistics) {
    step->bind(uid::sum, node.outputs[1]);
    step->bind(uid::square_sum, node.outputs[2]);
  }
  return StepPtr{std::move(step)};
}

Result<StepPtr> lower_conv2d_backward_data(Lowering& lowering, const Node& node) {
  TROUPE_TRY(auto step, make_step(lowering, node, backward_data_graph(lowering.graph, node)));
  step->bind(uid::dy, node.inputs[0]);
  step->bind(uid::dx, node.outputs[0]);
  if (std::get<Conv2dAttributes>(node.attributes).batch_norm_relu) {
    constexpr cudnn::Uid read[] = {uid::bn_x, uid::bn_scale, uid::bn_bias, uid::bn_mean,
                                   uid::bn_inv_std};
    for (std::size_t i = 0; i < std::size(read); ++i)
      step->bind(read[i], node.inputs[2 + i]);
    constexpr cudnn::Uid written[] = {uid::dscale, uid::dbias, uid::a, uid::b, uid::c};
    for (std::size_t i = 0; i < std::size(written); ++i)
      step->bind(written[i], node.outputs[1 + i]);
  }
  return StepPtr{std::move(step)};
}

Result<StepPtr> lower_conv2d_backward_weight(Lowering& lowering, const Node& node) {
  const auto& x = lowering.input(node, 1);
  TROUPE_TRY(auto way, weight_gradient(*lowering.plans, lowering.policy, lowering.graph, node));
  auto step = std::make_unique<ConvolutionStep>(node, std::move(way.plan));
  step->bind(uid::x, node.inputs[1]);
  step->bind(uid::dy, node.inputs[0]);
  if (std::get<Conv2dAttributes>(node.attributes).prologue)
    bind_prologue(*step, node, x);
  if (way.written == DType::f32)
    step->bind(uid::dw, node.outputs[0]);
  else
    step->bind_staged(
        uid::dw, lowering.narrow_gradients[static_cast<std::size_t>(node.unit)].add(
                     node.outputs[0], weight_gradient_elements(lowering.graph, node), way.written));
  return StepPtr{std::move(step)};
}

} // namespace troupe::gpu
