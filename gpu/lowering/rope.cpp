#include "gpu/kernels/rope.hpp"

#include "gpu/lowering/lowering.hpp"

namespace troupe::gpu {

namespace {

StepPtr turning_step(const Lowering& lowering, const Node& node, Turn turn) {
  const auto& x = lowering.input(node, 0);
  return kernel_step(node.op, [node, turn, type = x.dtype, rows = x.shape[0]](const Launch& l) {
    launch_rope(l.stream, type, std::get<RopeAttributes>(node.attributes), turn, rows,
                l.data(node.inputs[0]),
                node.inputs.size() == 2 ? l.data<std::int32_t>(node.inputs[1]) : nullptr,
                l.data(node.outputs[0]));
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
