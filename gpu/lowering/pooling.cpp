#include "gpu/lowering/detail/pool_shape.hpp"
#include "gpu/lowering/lowering.hpp"

namespace troupe::gpu {

namespace {

PoolShape shape_of(const Node& node, const Tensor& x, const Tensor& y) {
  return pool_shape(std::get<PoolAttributes>(node.attributes), x, y);
}

} // namespace

Result<StepPtr> lower_max_pool(Lowering& lowering, const Node& node) {
  const auto shape = shape_of(node, lowering.input(node, 0), lowering.output(node));
  if (shape.attributes.prologue)
    return kernel_step(node, [shape](const NodeLaunch& l) {
      launch_normalized_max_pool(l.stream, shape, l.in(0), l.in<float>(1), l.in<float>(2), l.out(0),
                                 l.out<std::uint8_t>(1));
    });
  return kernel_step(node, [shape, type = pool_index_type(node)](const NodeLaunch& l) {
    launch_max_pool(l.stream, shape, l.in(0), l.out(0), l.out(1), type);
  });
}

Result<StepPtr> lower_max_pool_backward(Lowering& lowering, const Node& node) {
  const auto shape = shape_of(node, lowering.output(node), lowering.input(node, 0));
  return kernel_step(node, [shape, type = pool_index_type(node)](const NodeLaunch& l) {
    launch_max_pool_backward(l.stream, shape, l.in(0), l.in(1), type, l.out(0));
  });
}

Result<StepPtr> lower_avg_pool(Lowering& lowering, const Node& node) {
  const auto shape = shape_of(node, lowering.input(node, 0), lowering.output(node));
  return kernel_step(
      node, [shape](const NodeLaunch& l) { launch_avg_pool(l.stream, shape, l.in(0), l.out(0)); });
}

Result<StepPtr> lower_avg_pool_backward(Lowering& lowering, const Node& node) {
  const auto shape = shape_of(node, lowering.output(node), lowering.input(node, 0));
  return kernel_step(node, [shape](const NodeLaunch& l) {
    launch_avg_pool_backward(l.stream, shape, l.in(0), l.out(0));
  });
}

} // namespace troupe::gpu
