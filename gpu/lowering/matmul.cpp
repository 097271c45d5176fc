#include "../cublas/matmul.hpp"

#include "lowering.hpp"

#include <optional>

namespace troupe::gpu {

namespace {

/// Enough for any product of a classifier's head.
constexpr std::size_t matmul_workspace = std::size_t{32} << 20;

class MatmulStep final : public Step {
public:
  MatmulStep(const Node& node, Matmul matmul, TensorId first,
             const std::optional<WeightView>& weight, TensorId second, TensorId bias)
      : matmul_{std::move(matmul)}, weight_{weight}, first_{first}, second_{second}, bias_{bias},
        result_{node.outputs[0]} {
    name = to_string(node.op);
  }

  std::size_t workspace_bytes() const override { return matmul_workspace; }

  Status enqueue(const Launch& l) override {
    return matmul_.run(l.stream, l.data(first_), weight_ ? weight_->data(l) : l.data(second_),
                       bias_ < 0 ? nullptr : l.data<float>(bias_), l.data(result_), l.workspace());
  }

private:
  Matmul matmul_;
  std::optional<WeightView> weight_; ///< the second factor, when it is a parameter
  TensorId first_, second_, bias_, result_;
};

} // namespace

Result<StepPtr> lower_matmul(Lowering& lowering, const Node& node) {
  const bool is_weight_gradient = node.op == Op::matmul_backward_weight;
  const auto& first = lowering.input(node, 0);
  // Whichever op it is, (rows, out) is y or dy and (rows, in) is x or dx.
  const auto& wide = node.op == Op::matmul ? lowering.output(node) : first;
  const auto& narrow = node.op == Op::matmul ? first
                       : is_weight_gradient  ? lowering.input(node, 1)
                                             : lowering.output(node);
  const bool bias = node.op == Op::matmul && node.inputs.size() == 3;
  auto matmul =
      Matmul::create(lowering.matmuls, {.product = node.op == Op::matmul ? Product::forward
                                                   : is_weight_gradient  ? Product::backward_weight
                                                                         : Product::backward_data,
                                        .rows = wide.shape[0],
                                        .in = narrow.shape[1],
                                        .out = wide.shape[1],
                                        .operands = first.dtype,
                                        .result = lowering.output(node).dtype,
                                        .tf32 = lowering.options.tf32,
                                        .bias = bias,
                                        .workspace_bytes = matmul_workspace});
  if (!matmul)
    return failure(matmul.error());
  std::optional<WeightView> weight;
  if (!is_weight_gradient)
    weight.emplace(lowering, node.inputs[1], first.dtype);
  return std::make_unique<MatmulStep>(node, std::move(*matmul), node.inputs[0], weight,
                                      node.inputs[1], bias ? node.inputs[2] : -1);
}

} // namespace troupe::gpu
