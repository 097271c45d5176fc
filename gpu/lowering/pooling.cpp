#include "gpu/lowering/detail/pool_shape.hpp"
#include "gpu/lowering/lowering.hpp"
#include "gpu/lowering/pool_index.hpp"

namespace troupe::gpu {

namespace {

PoolShape shape_of(const Node& node, const Tensor& x, const Tensor& y) {
  return pool_shape(std::get<PoolAttributes>(node.attributes), x, y);
}

StepPtr normalized_max_pool(const Node& node, const PoolShape& shape) {
  return kernel_step(node.op, [node, shape](const Launch& l) {
    launch_normalized_max_pool(l.stream, shape, l.data(node.inputs[0]),
                               l.data<float>(node.inputs[1]), l.data<float>(node.inputs[2]),
                               l.data(node.outputs[0]), l.data<std::uint8_t>(node.outputs[1]));
  });
}

} // namespace

Result<StepPtr> lower_max_pool(Lowering& lowering, const Node& node) {
  const auto shape = shape_of(node, lowering.input(node, 0), lowering.output(node));
  if (shape.attributes.prologue)
    return normalized_max_pool(node, shape);
  return kernel_step(node.op, [node, shape, type = pool_index_type(node)](const Launch& l) {
    launch_max_pool(l.stream, shape, l.data(node.inputs[0]), l.data(node.outputs[0]),
                    l.data(node.outputs[1]), type);
  });
}

Result<StepPtr> lower_max_pool_backward(Lowering& lowering, const Node& node) {
  const auto shape = shape_of(node, lowering.output(node), lowering.input(node, 0));
  return kernel_step(node.op, [node, shape, type = pool_index_type(node)](const Launch& l) {
    launch_max_pool_backward(l.stream, shape, l.data(node.inputs[0]), l.data(node.inputs[1]), type,
                             l.data(node.outputs[0]));
  });
}

Result<StepPtr> lower_avg_pool(Lowering& lowering, const Node& node) {
  const auto shape = shape_of(node, lowering.input(node, 0), lowering.output(node));
  return kernel_step(node.op, [node, shape](const Launch& l) {
    launch_avg_pool(l.stream, shape, l.data(node.inputs[0]), l.data(node.outputs[0]));
  });
}

Result<StepPtr> lower_avg_pool_backward(Lowering& lowering, const Node& node) {
  const auto shape = shape_of(node, lowering.output(node), lowering.input(node, 0));
  return kernel_step(node.op, [node, shape](const Launch& l) {
    launch_avg_pool_backward(l.stream, shape, l.data(node.inputs[0]), l.data(node.outputs[0]));
  });
}

} // namespace troupe::gpu
