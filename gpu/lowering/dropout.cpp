#include "gpu/kernels/dropout.hpp"

#include "gpu/lowering/lowering.hpp"

namespace troupe::gpu {

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

} // namespace troupe::gpu
