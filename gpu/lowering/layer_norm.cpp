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
  return kernel_step(node, [shape = row_shape(lowering.input(node, 0))](const NodeLaunch& l) {
    launch_layer_norm(l.stream, shape,
                      {.x = l.in(0),
                       .y = l.out(0),
                       .scale = l.in<float>(1),
                       .shift = l.in<float>(2),
                       .saved_mean = l.out<float>(1),
                       .saved_inv_std = l.out<float>(2),
                       .eps = l.attributes<LayerNormAttributes>().eps});
  });
}

Result<StepPtr> lower_layer_norm_backward(Lowering& lowering, const Node& node) {
  return kernel_step(node, [shape = row_shape(lowering.input(node, 1))](const NodeLaunch& l) {
    launch_layer_norm_backward(l.stream, shape,
                               {.dy = l.in(0),
                                .x = l.in(1),
                                .dx = l.out(0),
                                .scale = l.in<float>(2),
                                .mean = l.in<float>(3),
                                .inv_std = l.in<float>(4),
                                .dscale = l.out<float>(1),
                                .dshift = l.out<float>(2)},
                               l.reductions);
  });
}

Result<StepPtr> lower_rms_norm(Lowering& lowering, const Node& node) {
  return kernel_step(node, [shape = row_shape(lowering.input(node, 0))](const NodeLaunch& l) {
    launch_layer_norm(l.stream, shape,
                      {.x = l.in(0),
                       .y = l.out(0),
                       .scale = l.in<float>(1),
                       .saved_inv_std = l.out<float>(1),
                       .eps = l.attributes<RmsNormAttributes>().eps});
  });
}

Result<StepPtr> lower_rms_norm_backward(Lowering& lowering, const Node& node) {
  return kernel_step(node, [shape = row_shape(lowering.input(node, 1))](const NodeLaunch& l) {
    launch_layer_norm_backward(l.stream, shape,
                               {.dy = l.in(0),
                                .x = l.in(1),
                                .dx = l.out(0),
                                .scale = l.in<float>(2),
                                .inv_std = l.in<float>(3),
                                .dscale = l.out<float>(1)},
                               l.reductions);
  });
}

} // namespace troupe::gpu
