#include "gpu/kernels/layer_norm.hpp"

#include "gpu/lowering/lowering.hpp"

namespace troupe::gpu {

namespace {

LayerNormShape row_shape(const Tensor& x, const Tensor& y, const Tensor& other) {
  const auto columns = x.shape.dims.back();
  return {.rows = x.shape.elements() / columns,
          .columns = columns,
          .x = x.dtype,
          .y = y.dtype,
          .other = other.dtype};
}

/// `rms`: without shift and mean.
StepPtr norm_step(const Lowering& lowering, const Node& node, float eps, bool rms) {
  const auto shape =
      row_shape(lowering.input(node, 0), lowering.output(node), lowering.graph[node.inputs.back()]);
  const bool add = norm_fusion(node.attributes)->add;
  return kernel_step(node, [shape, eps, rms, add](const NodeLaunch& l) {
    launch_layer_norm(l.stream, shape,
                      {.x = l.in(0),
                       .addend = add ? l.in(rms ? 2 : 3) : nullptr,
                       .sum = add ? l.out(rms ? 2 : 3) : nullptr,
                       .y = l.out(0),
                       .scale = l.in<float>(1),
                       .shift = rms ? nullptr : l.in<float>(2),
                       .saved_mean = rms ? nullptr : l.out<float>(1),
                       .saved_inv_std = l.out<float>(rms ? 1 : 2),
                       .eps = eps});
  });
}

StepPtr backward_step(const Lowering& lowering, const Node& node, bool rms) {
  const auto shape = row_shape(lowering.input(node, 1), lowering.input(node, 0),
                               lowering.graph[node.outputs.back()]);
  const auto fusion = *norm_fusion(node.attributes);
  return kernel_step(
      node, layer_norm_backward_bytes(shape), [shape, fusion, rms](const NodeLaunch& l) {
        launch_layer_norm_backward(l.stream, shape,
                                   {.dy = l.in(0),
                                    .x = l.in(1),
                                    .other = fusion.add_gradient ? l.in(rms ? 4 : 5) : nullptr,
                                    .dx = l.out(0),
                                    .narrow = fusion.narrow ? l.out(rms ? 2 : 3) : nullptr,
                                    .scale = l.in<float>(2),
                                    .mean = rms ? nullptr : l.in<float>(3),
                                    .inv_std = l.in<float>(rms ? 3 : 4),
                                    .dscale = l.out<float>(1),
                                    .dshift = rms ? nullptr : l.out<float>(2)},
                                   reinterpret_cast<float*>(l.workspace()));
      });
}

} // namespace

Result<StepPtr> lower_layer_norm(Lowering& lowering, const Node& node) {
  const auto eps = std::get<LayerNormAttributes>(node.attributes).eps;
  return norm_step(lowering, node, eps, false);
}

Result<StepPtr> lower_layer_norm_backward(Lowering& lowering, const Node& node) {
  return backward_step(lowering, node, false);
}

Result<StepPtr> lower_rms_norm(Lowering& lowering, const Node& node) {
  return norm_step(lowering, node, std::get<RmsNormAttributes>(node.attributes).eps, true);
}

Result<StepPtr> lower_rms_norm_backward(Lowering& lowering, const Node& node) {
  return backward_step(lowering, node, true);
}

} // namespace troupe::gpu
