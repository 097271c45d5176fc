// Ops that handle one element, pixel or row at a time.
#include "gpu/kernels/elementwise.hpp"
#include "gpu/kernels/flat.hpp"
#include "gpu/lowering/lowering.hpp"

namespace troupe::gpu {

namespace {

std::size_t elements(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.shape.elements());
}

/// Copies the bytes to another shape. Does nothing if the memory plan placed both tensors at the
/// same address.
StepPtr copy_step(const Lowering& lowering, const Node& node) {
  const auto& x = lowering.input(node, 0);
  return kernel_step(node, [bytes = elements(x) * size_of(x.dtype)](const NodeLaunch& l) {
    if (l.out(0) != l.in(0))
      cudaMemcpyAsync(l.out(0), l.in(0), bytes, cudaMemcpyDeviceToDevice, l.stream);
  });
}

SubsampleShape subsample_shape(const Node& node, const Tensor& x, const Tensor& y) {
  const auto& attributes = std::get<SubsamplePadAttributes>(node.attributes);
  const auto size = [](std::int64_t value) { return static_cast<int>(value); };
  return {.batch = size(x.shape[0]),
          .x_height = size(x.shape[1]),
          .x_width = size(x.shape[2]),
          .x_channels = size(x.shape[3]),
          .y_height = size(y.shape[1]),
          .y_width = size(y.shape[2]),
          .y_channels = size(y.shape[3]),
          .stride = size(attributes.stride),
          .pad_before = size(attributes.pad_before)};
}

} // namespace

Result<StepPtr> lower_relu(Lowering& lowering, const Node& node) {
  const auto& x = lowering.input(node, 0);
  return kernel_step(node, [type = x.dtype, count = elements(x)](const NodeLaunch& l) {
    launch_relu(l.stream, type, l.in(0), l.out(0), count);
  });
}

Result<StepPtr> lower_relu_backward(Lowering& lowering, const Node& node) {
  const auto& dy = lowering.input(node, 0);
  return kernel_step(node, [type = dy.dtype, count = elements(dy)](const NodeLaunch& l) {
    launch_relu_backward(l.stream, type, l.in(0), l.in(1), l.out(0), count);
  });
}

Result<StepPtr> lower_gelu(Lowering& lowering, const Node& node) {
  const auto& x = lowering.input(node, 0);
  return kernel_step(node, [type = x.dtype, count = elements(x)](const NodeLaunch& l) {
    launch_gelu(l.stream, type, l.in(0), l.out(0), count, l.attributes<GeluAttributes>().tanh);
  });
}

Result<StepPtr> lower_gelu_backward(Lowering& lowering, const Node& node) {
  const auto& dy = lowering.input(node, 0);
  return kernel_step(node, [type = dy.dtype, count = elements(dy)](const NodeLaunch& l) {
    launch_gelu_backward(l.stream, type, l.in(0), l.in(1), l.out(0), count,
                         l.attributes<GeluAttributes>().tanh);
  });
}

Result<StepPtr> lower_swiglu(Lowering& lowering, const Node& node) {
  const auto& y = lowering.output(node);
  return kernel_step(node, [type = y.dtype, count = elements(y)](const NodeLaunch& l) {
    launch_swiglu(l.stream, type, l.in(0), l.in(1), l.out(0), count);
  });
}

Result<StepPtr> lower_swiglu_backward(Lowering& lowering, const Node& node) {
  const auto& dy = lowering.input(node, 0);
  return kernel_step(node, [type = dy.dtype, count = elements(dy)](const NodeLaunch& l) {
    launch_swiglu_backward(l.stream, type, l.in(0), l.in(1), l.in(2), l.out(0), l.out(1), count);
  });
}

Result<StepPtr> lower_dropout(Lowering& lowering, const Node& node) {
  const auto& x = lowering.input(node, 0);
  const auto samples = static_cast<std::size_t>(lowering.input(node, 1).shape[0]);
  const auto of_sample = static_cast<std::size_t>(x.shape.elements()) / samples;
  const auto rule = dropout_rule(std::get<DropoutAttributes>(node.attributes));
  return kernel_step(node, [type = x.dtype, rule, samples, of_sample](const NodeLaunch& l) {
    launch_dropout(l.stream, type, rule, l.in<std::int32_t>(1), samples, of_sample, l.in(0),
                   l.out(0));
  });
}

Result<StepPtr> lower_add(Lowering& lowering, const Node& node) {
  const auto& a = lowering.input(node, 0);
  return kernel_step(node, [type = a.dtype, count = elements(a)](const NodeLaunch& l) {
    launch_add(l.stream, type, l.out(0), l.in(0), l.in(1), count);
  });
}

Result<StepPtr> lower_bias(Lowering& lowering, const Node& node) {
  const auto& x = lowering.input(node, 0);
  return kernel_step(
      node, [type = x.dtype, rows = x.shape[0], columns = x.shape[1]](const NodeLaunch& l) {
        launch_bias(l.stream, type, l.in(0), l.in<float>(1), l.out(0), rows, columns);
      });
}

Result<StepPtr> lower_bias_backward(Lowering& lowering, const Node& node) {
  const auto& dy = lowering.input(node, 0);
  return kernel_step(
      node, [type = dy.dtype, rows = dy.shape[0], columns = dy.shape[1]](const NodeLaunch& l) {
        launch_bias_backward(l.stream, type, l.in(0), l.out<float>(0), rows, columns, l.reductions);
      });
}

Result<StepPtr> lower_cast(Lowering& lowering, const Node& node) {
  const auto& x = lowering.input(node, 0);
  return kernel_step(node, [from = x.dtype, to = lowering.output(node).dtype,
                            count = elements(x)](const NodeLaunch& l) {
    launch_cast(l.stream, l.in(0), from, l.out(0), to, count);
  });
}

Result<StepPtr> lower_flatten(Lowering& lowering, const Node& node) {
  return copy_step(lowering, node);
}

Result<StepPtr> lower_unflatten(Lowering& lowering, const Node& node) {
  return copy_step(lowering, node);
}

Result<StepPtr> lower_share(Lowering& lowering, const Node& node) {
  return copy_step(lowering, node);
}

Result<StepPtr> lower_subsample_pad(Lowering& lowering, const Node& node) {
  const auto& x = lowering.input(node, 0);
  return kernel_step(node, [shape = subsample_shape(node, x, lowering.output(node)),
                            type = x.dtype](const NodeLaunch& l) {
    launch_subsample_pad(l.stream, type, l.in(0), l.out(0), shape);
  });
}

Result<StepPtr> lower_subsample_pad_backward(Lowering& lowering, const Node& node) {
  const auto& dy = lowering.input(node, 0);
  return kernel_step(node, [shape = subsample_shape(node, lowering.output(node), dy),
                            type = dy.dtype](const NodeLaunch& l) {
    launch_subsample_pad_backward(l.stream, type, l.in(0), l.out(0), shape);
  });
}

} // namespace troupe::gpu
