// Batch norm by kernels of ours: whole, or the pieces that are left when a convolution does the
// rest.
#include "lowering.hpp"

#include "../kernels/batch_norm.hpp"

namespace troupe::gpu {

namespace {

BatchNormShape shape_of(const Tensor& x) {
  const auto channels = x.shape[x.shape.rank() - 1];
  return {.dtype = x.dtype, .rows = x.shape.elements() / channels, .channels = channels};
}

/// Normalizes by these statistics.
void apply(const Launch& l, const Node& node, const BatchNormAttributes& attributes,
           const BatchNormShape& shape, BatchNormApply by) {
  by.x = l.data(node.inputs[0]);
  by.residual = attributes.add ? l.data(node.inputs[5]) : nullptr;
  by.y = l.data(node.outputs[0]);
  by.scale = l.data<float>(node.inputs[1]);
  by.shift = l.data<float>(node.inputs[2]);
  by.relu = attributes.relu;
  launch_batch_norm_apply(l.stream, shape, by);
}

StepPtr lower_training(const Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
  return kernel_step(
      node.op, [node, attributes, shape = shape_of(lowering.input(node, 0))](const Launch& l) {
        auto* const mean = l.data<float>(node.outputs[1]);
        auto* const inv_std = l.data<float>(node.outputs[2]);
        launch_batch_norm_statistics(l.stream, shape, l.data(node.inputs[0]),
                                     {.saved_mean = mean,
                                      .saved_inv_std = inv_std,
                                      .running_mean = l.data<float>(node.inputs[3]),
                                      .running_variance = l.data<float>(node.inputs[4]),
                                      .eps = attributes.eps,
                                      .momentum = attributes.momentum},
                                     l.reductions);
        apply(l, node, attributes, shape, {.mean = mean, .inv_std = inv_std});
      });
}

/// The second half of what lower_training enqueues.
StepPtr lower_normalize(const Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
  return kernel_step(
      node.op, [node, attributes, shape = shape_of(lowering.input(node, 0))](const Launch& l) {
        apply(l, node, attributes, shape,
              {.mean = l.data<float>(node.inputs[3]), .inv_std = l.data<float>(node.inputs[4])});
      });
}

StepPtr lower_inference(const Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
  return kernel_step(
      node.op, [node, attributes, shape = shape_of(lowering.input(node, 0))](const Launch& l) {
        apply(l, node, attributes, shape,
              {.mean = l.data<float>(node.inputs[3]),
               .variance = l.data<float>(node.inputs[4]),
               .eps = attributes.eps});
      });
}

StepPtr lower_backward(const Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
  // Without a residual, what ReLU let pass is found again from x: y need not be read.
  const bool from_x = attributes.relu && !attributes.add;
  const TensorId shift = from_x ? lowering.shift_of(node.inputs[3]) : -1;
  return kernel_step(node.op, [node, attributes, from_x, shift,
                               shape = shape_of(lowering.input(node, 1))](const Launch& l) {
    launch_batch_norm_backward(l.stream, shape,
                               {.dy = l.data(node.inputs[0]),
                                .x = l.data(node.inputs[1]),
                                .relu = attributes.relu,
                                .y = attributes.relu && !from_x ? l.data(node.inputs[5]) : nullptr,
                                .scale = l.data<float>(node.inputs[2]),
                                .shift = from_x ? l.data<float>(shift) : nullptr,
                                .mean = l.data<float>(node.inputs[3]),
                                .inv_std = l.data<float>(node.inputs[4]),
                                .dx = l.data(node.outputs[0]),
                                .dscale = l.data<float>(node.outputs[1]),
                                .dshift = l.data<float>(node.outputs[2]),
                                .dresidual = attributes.add ? l.data(node.outputs[3]) : nullptr},
                               l.reductions);
  });
}

StepPtr lower_finalize(const Lowering& lowering, const Node& node) {
  const auto& attributes = std::get<FinalizeAttributes>(node.attributes);
  const auto channels = lowering.input(node, 0).shape[0];
  return kernel_step(node.op, [node, attributes, channels](const Launch& l) {
    launch_batch_norm_finalize(l.stream, attributes.count, channels, l.data<float>(node.inputs[0]),
                               l.data<float>(node.inputs[1]),
                               {.saved_mean = l.data<float>(node.outputs[0]),
                                .saved_inv_std = l.data<float>(node.outputs[1]),
                                .running_mean = l.data<float>(node.inputs[4]),
                                .running_variance = l.data<float>(node.inputs[5]),
                                .eps = attributes.eps,
                                .momentum = attributes.momentum,
                                .scale = l.data<float>(node.inputs[2]),
                                .shift = l.data<float>(node.inputs[3]),
                                .equivalent_scale = l.data<float>(node.outputs[2]),
                                .equivalent_shift = l.data<float>(node.outputs[3])});
  });
}

StepPtr lower_scale_shift(const Lowering& lowering, const Node& node) {
  const bool relu = std::get<ScaleShiftAttributes>(node.attributes).relu;
  return kernel_step(node.op,
                     [node, relu, shape = shape_of(lowering.input(node, 0))](const Launch& l) {
                       const auto optional = [&](std::size_t i) {
                         return i < node.inputs.size() ? l.data<float>(node.inputs[i]) : nullptr;
                       };
                       launch_scale_bias(l.stream, shape,
                                         {.x = l.data(node.inputs[0]),
                                          .scale = l.data<float>(node.inputs[1]),
                                          .shift = l.data<float>(node.inputs[2]),
                                          .z = optional(3),
                                          .z_scale = optional(4),
                                          .z_shift = optional(5),
                                          .y = l.data(node.outputs[0]),
                                          .relu = relu});
                     });
}

StepPtr lower_input_gradient(const Lowering& lowering, const Node& node) {
  return kernel_step(node.op, [node, shape = shape_of(lowering.input(node, 0))](const Launch& l) {
    launch_dbn_apply(l.stream, shape, l.data(node.inputs[0]), l.data(node.inputs[1]),
                     l.data<float>(node.inputs[2]), l.data<float>(node.inputs[3]),
                     l.data<float>(node.inputs[4]), l.data(node.outputs[0]));
  });
}

} // namespace

Result<StepPtr> lower_batch_norm(Lowering& lowering, const Node& node) {
  switch (node.op) {
  case Op::batch_norm_finalize:
    return lower_finalize(lowering, node);
  case Op::scale_shift:
    return lower_scale_shift(lowering, node);
  case Op::batch_norm_input_gradient:
    return lower_input_gradient(lowering, node);
  case Op::batch_norm_backward:
    return lower_backward(lowering, node);
  case Op::normalize:
    return lower_normalize(lowering, node);
  default:
    return std::get<BatchNormAttributes>(node.attributes).training
               ? lower_training(lowering, node)
               : lower_inference(lowering, node);
  }
}

} // namespace troupe::gpu
