// Ops that work on one element, pixel or row at a time.
#include "lowering.hpp"

#include "../kernels/elementwise.hpp"
#include "../kernels/flat.hpp"

namespace troupe::gpu {

namespace {

std::size_t elements(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.shape.elements());
}

StepPtr lower_relu_backward(const Lowering& lowering, const Node& node) {
  return kernel_step(node.op, [node, type = lowering.input(node, 0).dtype,
                               count = elements(lowering.input(node, 0))](const Launch& l) {
    launch_relu_backward(l.stream, type, l.data(node.inputs[0]), l.data(node.inputs[1]),
                         l.data(node.outputs[0]), count);
  });
}

StepPtr lower_add(const Lowering& lowering, const Node& node) {
  return kernel_step(node.op, [node, type = lowering.input(node, 0).dtype,
                               count = elements(lowering.input(node, 0))](const Launch& l) {
    launch_add(l.stream, type, l.data(node.outputs[0]), l.data(node.inputs[0]),
               l.data(node.inputs[1]), count);
  });
}

StepPtr lower_bias(const Lowering& lowering, const Node& node) {
  const auto& x = lowering.input(node, 0);
  const bool backward = node.op == Op::bias_backward;
  return kernel_step(node.op, [node, backward, type = x.dtype, rows = x.shape[0],
                               columns = x.shape[1]](const Launch& l) {
    if (backward)
      launch_bias_backward(l.stream, type, l.data(node.inputs[0]), l.data<float>(node.outputs[0]),
                           rows, columns);
    else
      launch_bias(l.stream, type, l.data(node.inputs[0]), l.data<float>(node.inputs[1]),
                  l.data(node.outputs[0]), rows, columns);
  });
}

StepPtr lower_cast(const Lowering& lowering, const Node& node) {
  const auto& x = lowering.input(node, 0);
  return kernel_step(node.op, [node, from = x.dtype, to = lowering.output(node).dtype,
                               count = elements(x)](const Launch& l) {
    launch_cast(l.stream, l.data(node.inputs[0]), from, l.data(node.outputs[0]), to, count);
  });
}

/// The same bytes under another shape: nothing to do where the memory plan put both in one place.
StepPtr lower_reshape(const Lowering& lowering, const Node& node) {
  const auto& x = lowering.input(node, 0);
  return kernel_step(node.op, [node, bytes = elements(x) * size_of(x.dtype)](const Launch& l) {
    if (l.data(node.outputs[0]) != l.data(node.inputs[0]))
      cudaMemcpyAsync(l.data(node.outputs[0]), l.data(node.inputs[0]), bytes,
                      cudaMemcpyDeviceToDevice, l.stream);
  });
}

StepPtr lower_subsample(const Lowering& lowering, const Node& node) {
  const bool backward = node.op == Op::subsample_pad_backward;
  const auto& attributes = std::get<SubsamplePadAttributes>(node.attributes);
  const auto& x = (backward ? lowering.output(node) : lowering.input(node, 0)).shape;
  const auto& y = (backward ? lowering.input(node, 0) : lowering.output(node)).shape;
  const SubsampleShape shape{.batch = static_cast<int>(x[0]),
                             .x_height = static_cast<int>(x[1]),
                             .x_width = static_cast<int>(x[2]),
                             .x_channels = static_cast<int>(x[3]),
                             .y_height = static_cast<int>(y[1]),
                             .y_width = static_cast<int>(y[2]),
                             .y_channels = static_cast<int>(y[3]),
                             .stride = static_cast<int>(attributes.stride),
                             .pad_before = static_cast<int>(attributes.pad_before)};
  const auto launch_it = backward ? launch_subsample_pad_backward : launch_subsample_pad;
  return kernel_step(
      node.op, [node, shape, launch_it, type = lowering.input(node, 0).dtype](const Launch& l) {
        launch_it(l.stream, type, l.data(node.inputs[0]), l.data(node.outputs[0]), shape);
      });
}

} // namespace

Result<StepPtr> lower_elementwise(Lowering& lowering, const Node& node) {
  switch (node.op) {
  case Op::relu_backward:
    return lower_relu_backward(lowering, node);
  case Op::add:
    return lower_add(lowering, node);
  case Op::bias:
  case Op::bias_backward:
    return lower_bias(lowering, node);
  case Op::cast:
    return lower_cast(lowering, node);
  case Op::flatten:
  case Op::unflatten:
    return lower_reshape(lowering, node);
  case Op::subsample_pad:
  case Op::subsample_pad_backward:
    return lower_subsample(lowering, node);
  default:
    return kernel_step(node.op, [node, type = lowering.input(node, 0).dtype,
                                 count = elements(lowering.input(node, 0))](const Launch& l) {
      launch_relu(l.stream, type, l.data(node.inputs[0]), l.data(node.outputs[0]), count);
    });
  }
}

} // namespace troupe::gpu
