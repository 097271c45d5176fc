#include "gpu/kernels/layer_norm.hpp"

#include "gpu/lowering/lowering.hpp"

namespace troupe::gpu {

namespace {

LayerNormShape row_shape(const Tensor& x) {
  const auto columns = x.shape.dims.back();
  return {.dtype = x.dtype, .rows = x.shape.elements() / columns, .columns = columns};
}

} // namespace

Result<StepPtr> lower_layer_norm(Lowering& lowering, const Node& node) {
  return kernel_step(node.op, [node, shape = row_shape(lowering.input(node, 0))](const Launch& l) {
    launch_layer_norm(l.stream, shape,
                      {.x = l.data(node.inputs[0]),
                       .y = l.data(node.outputs[0]),
                       .scale = l.data<float>(node.inputs[1]),
                       .shift = l.data<float>(node.inputs[2]),
                       .saved_mean = l.data<float>(node.outputs[1]),
                       .saved_inv_std = l.data<float>(node.outputs[2]),
                       .eps = std::get<LayerNormAttributes>(node.attributes).eps});
  });
}

Result<StepPtr> lower_layer_norm_backward(Lowering& lowering, const Node& node) {
  return kernel_step(node.op, [node, shape = row_shape(lowering.input(node, 1))](const Launch& l) {
    launch_layer_norm_backward(l.stream, shape,
                               {.dy = l.data(node.inputs[0]),
                                .x = l.data(node.inputs[1]),
                                .dx = l.data(node.outputs[0]),
                                .scale = l.data<float>(node.inputs[2]),
                                .mean = l.data<float>(node.inputs[3]),
                                .inv_std = l.data<float>(node.inputs[4]),
                                .dscale = l.data<float>(node.outputs[1]),
                                .dshift = l.data<float>(node.outputs[2])},
                               l.reductions);
  });
}

Result<StepPtr> lower_rms_norm(Lowering& lowering, const Node& node) {
  return kernel_step(node.op, [node, shape = row_shape(lowering.input(node, 0))](const Launch& l) {
    launch_layer_norm(l.stream, shape,
                      {.x = l.data(node.inputs[0]),
                       .y = l.data(node.outputs[0]),
                       .scale = l.data<float>(node.inputs[1]),
                       .saved_inv_std = l.data<float>(node.outputs[1]),
                       .eps = std::get<RmsNormAttributes>(node.attributes).eps});
  });
}

Result<StepPtr> lower_rms_norm_backward(Lowering& lowering, const Node& node) {
  return kernel_step(node.op, [node, shape = row_shape(lowering.input(node, 1))](const Launch& l) {
    launch_layer_norm_backward(l.stream, shape,
                               {.dy = l.data(node.inputs[0]),
                                .x = l.data(node.inputs[1]),
                                .dx = l.data(node.outputs[0]),
                                .scale = l.data<float>(node.inputs[2]),
                                .inv_std = l.data<float>(node.inputs[3]),
                                .dscale = l.data<float>(node.outputs[1])},
                               l.reductions);
  });
}

} // namespace troupe::gpu
