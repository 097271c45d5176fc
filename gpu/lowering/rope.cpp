#include "gpu/kernels/rope.hpp"

#include "gpu/lowering/lowering.hpp"

namespace troupe::gpu {

namespace {

StepPtr turning_step(const Lowering& lowering, const Node& node, Turn turn) {
  const auto& x = lowering.input(node, 0);
  return kernel_step(node, [turn, type = x.dtype, rows = x.shape[0]](const NodeLaunch& l) {
    launch_rope(l.stream, type, l.attributes<RopeAttributes>(), turn, rows, l.in(0),
                l.in_or_null<std::int32_t>(1), l.out(0));
  });
}

} // namespace

Result<StepPtr> lower_rope(Lowering& lowering, const Node& node) {
  return turning_step(lowering, node, Turn::forward);
}

Result<StepPtr> lower_rope_backward(Lowering& lowering, const Node& node) {
  return turning_step(lowering, node, Turn::back);
}

} // namespace troupe::gpu
