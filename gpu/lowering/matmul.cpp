#include "core/fail.hpp"
#include "gpu/cublas/matmul_plan_registry.hpp"
#include "gpu/lowering/lowering.hpp"

#include <optional>

namespace troupe::gpu {

namespace {

class MatmulStep final : public Step {
public:
  /// `bias`: -1 for none.
  MatmulStep(const Node& node, Matmul matmul, const std::optional<WeightView>& weight,
             TensorId bias)
      : matmul_{std::move(matmul)}, weight_{weight}, first_{node.inputs[0]},
        second_{node.inputs[1]}, bias_{bias}, result_{node.outputs[0]} {
    name = to_string(node.op);
  }

  std::size_t workspace_bytes() const override { return product_workspace; }

  Status enqueue(const Launch& l) override {
    return matmul_.run(l.stream, l.data(first_), weight_ ? weight_->data(l) : l.data(second_),
                       bias_ < 0 ? nullptr : l.data<float>(bias_), l.data(result_), l.workspace());
  }

private:
  Matmul matmul_;
  std::optional<WeightView> weight_; ///< the second factor, if it is a parameter
  TensorId first_, second_, bias_, result_;
};

/// Creates any of the three products. `y` is (rows, out), y or dy; `x` is (rows, in), x or dx. The
/// first factor is the node's first input.
Result<Matmul> make_product(Lowering& lowering, const Node& node, Product product, const Tensor& y,
                            const Tensor& x, bool bias = false) {
  TROUPE_TRY(auto* const products, lowering.products());
  TROUPE_TRY(auto chosen, products->product({.product = product,
                                             .rows = y.shape[0],
                                             .in = x.shape[1],
                                             .out = y.shape[1],
                                             .operands = lowering.input(node, 0).dtype,
                                             .result = lowering.output(node).dtype,
                                             .tf32 = lowering.options.tf32,
                                             .bias = bias,
                                             .workspace_bytes = product_workspace},
                                            lowering.options.deterministic));
  return std::move(chosen.matmul);
}

/// Creates a step whose second factor is a weight.
Result<StepPtr> weighted_step(Lowering& lowering, const Node& node, Result<Matmul> product,
                              TensorId bias) {
  if (!product)
    return failure(product.error());
  const auto weight = lowering.view_weight(node.inputs[1], lowering.input(node, 0).dtype);
  return std::make_unique<MatmulStep>(node, std::move(*product), weight, bias);
}

} // namespace

Result<StepPtr> lower_matmul(Lowering& lowering, const Node& node) {
  const bool bias = node.inputs.size() == 3;
  return weighted_step(lowering, node,
                       make_product(lowering, node, Product::forward, lowering.output(node),
                                    lowering.input(node, 0), bias),
                       bias ? node.inputs[2] : -1);
}

Result<StepPtr> lower_matmul_backward_data(Lowering& lowering, const Node& node) {
  return weighted_step(lowering, node,
                       make_product(lowering, node, Product::backward_data, lowering.input(node, 0),
                                    lowering.output(node)),
                       -1);
}

Result<StepPtr> lower_matmul_backward_weight(Lowering& lowering, const Node& node) {
  TROUPE_TRY(auto product, make_product(lowering, node, Product::backward_weight,
                                        lowering.input(node, 0), lowering.input(node, 1)));
  return std::make_unique<MatmulStep>(node, std::move(product), std::nullopt, -1);
}

} // namespace troupe::gpu
