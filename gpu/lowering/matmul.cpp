#include "core/fail.hpp"
#include "gpu/lowering/lowering.hpp"

namespace troupe::gpu {

namespace {

/// Lowers any of the three products. `y` is (rows, out), y or dy; `x` is (rows, in), x or dx. The
/// first factor is the node's first input. The second one is a weight, unless the product is a
/// weight's gradient.
Result<StepPtr> lower_product(Lowering& lowering, const Node& node, Product product,
                              const Tensor& y, const Tensor& x) {
  const auto type = lowering.input(node, 0).dtype;
  const bool bias = node.inputs.size() == 3;
  TROUPE_TRY(auto matmul, lowering.product({.product = product,
                                            .rows = y.shape[0],
                                            .in = x.shape[1],
                                            .out = y.shape[1],
                                            .operands = type,
                                            .result = lowering.output(node).dtype,
                                            .bias = bias}));
  const auto second = product == Product::backward_weight
                          ? WeightView{.parameter = node.inputs[1], .unit = node.unit}
                          : lowering.view_weight(node.inputs[1], type);
  return kernel_step(node, product_workspace,
                     [bias, second, matmul = std::move(matmul)](const NodeLaunch& l) {
                       return matmul.run(l.stream, l.in(0), second.data(l),
                                         bias ? l.in<float>(2) : nullptr, l.out(0), l.workspace());
                     });
}

} // namespace

Result<StepPtr> lower_matmul(Lowering& lowering, const Node& node) {
  return lower_product(lowering, node, Product::forward, lowering.output(node),
                       lowering.input(node, 0));
}

Result<StepPtr> lower_matmul_backward_data(Lowering& lowering, const Node& node) {
  return lower_product(lowering, node, Product::backward_data, lowering.input(node, 0),
                       lowering.output(node));
}

Result<StepPtr> lower_matmul_backward_weight(Lowering& lowering, const Node& node) {
  return lower_product(lowering, node, Product::backward_weight, lowering.input(node, 0),
                       lowering.input(node, 1));
}

} // namespace troupe::gpu
