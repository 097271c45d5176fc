#include "core/fail.hpp"
#include "gpu/lowering/detail/epilogue.hpp"
#include "gpu/lowering/lowering.hpp"

#include <optional>

namespace troupe::gpu {

namespace {

bool has_bias_gradient(const Node& node) {
  const auto* const attributes = std::get_if<MatmulAttributes>(&node.attributes);
  return attributes && attributes->bias_gradient;
}

bool has_gelu(const Node& node) {
  const auto* const attributes = std::get_if<MatmulAttributes>(&node.attributes);
  return attributes && attributes->gelu;
}

/// A linear layer, or a gradient of it. `y` is (rows, out), y or dy; `x` is (rows, in), x or dx.
/// The first factor is the node's first input. The second one is a weight, unless the product is a
/// weight's gradient.
MatmulOptions options_of(const Lowering& lowering, const Node& node, Product product,
                         const Tensor& y, const Tensor& x) {
  return {.product = product,
          .rows = y.shape[0],
          .in = x.shape[1],
          .out = y.shape[1],
          .operands = lowering.input(node, 0).dtype,
          .result = lowering.output(node).dtype,
          .bias = product == Product::forward ? node.inputs.size() == 3 : has_bias_gradient(node),
          .gelu = has_gelu(node)};
}

WeightView second_factor(const Lowering& lowering, const Node& node, const MatmulOptions& o) {
  return o.product == Product::backward_weight
             ? WeightView{.parameter = node.inputs[1], .unit = node.unit}
             : lowering.view_weight(node.inputs[1], o.operands);
}

/// Returns gelu's input: an output of the forward product, an input of its gradient; null without
/// gelu.
void* gelu_input(const MatmulOptions& o, const NodeLaunch& l) {
  return !o.gelu ? nullptr : o.product == Product::forward ? l.out(1) : l.in(2);
}

/// Returns the bias of a forward product, or the gradient of a bias that a weight's gradient
/// writes.
std::optional<WeightView> bias_of(const Lowering& lowering, const Node& node,
                                  const MatmulOptions& o) {
  if (!o.bias)
    return std::nullopt;
  return o.product == Product::forward
             ? lowering.view_weight(node.inputs[2], o.result)
             : WeightView{.parameter = node.outputs[1], .unit = node.unit};
}

/// Runs the product, or adds it to a weight's gradient.
class ProductRun {
public:
  ProductRun(Lowering& lowering, const Node& node, const MatmulOptions& options, Matmul matmul)
      : matmul_{std::move(matmul)}, output_{node.outputs[0]},
        adds_{options.product == Product::backward_weight && lowering.add_without_copy(output_)} {}

  Status operator()(const Launch& l, MatmulMemory memory) const {
    auto* const sum = adds_ ? l.sum_of(output_) : nullptr;
    if (!sum)
      return matmul_.run(l.stream, memory);
    memory.result = sum;
    return matmul_.add(l.stream, memory);
  }

private:
  Matmul matmul_;
  TensorId output_;
  bool adds_;
};

/// A product with its epilogue.
StepPtr fused_step(Lowering& lowering, const Node& node, const MatmulOptions& o, Matmul matmul) {
  return kernel_step(
      node, product_workspace,
      [bias = bias_of(lowering, node, o), o, second = second_factor(lowering, node, o),
       multiply = ProductRun{lowering, node, o, std::move(matmul)}](const NodeLaunch& l) {
        return multiply(l, {.first = l.in(0),
                            .second = second.data(l),
                            .result = l.out(0),
                            .workspace = l.workspace(),
                            .bias = bias ? bias->data(l) : nullptr,
                            .gelu_input = gelu_input(o, l)});
      });
}

/// A plain product, then kernels of this project.
StepPtr separate_step(Lowering& lowering, const Node& node, const MatmulOptions& o, Matmul matmul) {
  return kernel_step(
      node, product_workspace,
      [o, second = second_factor(lowering, node, o),
       multiply = ProductRun{lowering, node, o, std::move(matmul)}](const NodeLaunch& l) -> Status {
        auto* const product = o.gelu && o.product == Product::forward ? l.out(1) : l.out(0);
        TROUPE_TRY(multiply(l, {l.in(0), second.data(l), product, l.workspace()}));
        launch_epilogue(o, l, product);
        return {};
      });
}

/// Whether cuBLASLt takes longer for a product with its epilogue than for a plain product and the
/// kernels after it, by measured times.
Result<bool> is_slower(const Lowering& lowering, const ChosenMatmul& fused,
                       const ChosenMatmul& plain, const MatmulOptions& options) {
  TROUPE_TRY(const auto rates, lowering.rates());
  return fused.microseconds > plain.microseconds + rates.microseconds(epilogue_traffic(options));
}

Result<StepPtr> lower_product(Lowering& lowering, const Node& node, const MatmulOptions& options) {
  auto fused = lowering.product(options);
  if (fused && (!has_epilogue(options) || fused->microseconds < 0)) // nothing to compare
    return fused_step(lowering, node, options, std::move(fused->matmul));
  if (!fused && (!has_epilogue(options) || fused.error().code != Errc::unsupported))
    return failure(std::move(fused).error());
  TROUPE_TRY(auto plain, lowering.product(without_epilogue(options)));
  if (fused) {
    TROUPE_TRY(const bool slower, is_slower(lowering, *fused, plain, options));
    if (!slower)
      return fused_step(lowering, node, options, std::move(fused->matmul));
  }
  return separate_step(lowering, node, options, std::move(plain.matmul));
}

} // namespace

Result<StepPtr> lower_matmul(Lowering& lowering, const Node& node) {
  return lower_product(
      lowering, node,
      options_of(lowering, node, Product::forward, lowering.output(node), lowering.input(node, 0)));
}

Result<StepPtr> lower_matmul_backward_data(Lowering& lowering, const Node& node) {
  return lower_product(lowering, node,
                       options_of(lowering, node, Product::backward_data, lowering.input(node, 0),
                                  lowering.output(node)));
}

Result<StepPtr> lower_matmul_backward_weight(Lowering& lowering, const Node& node) {
  return lower_product(lowering, node,
                       options_of(lowering, node, Product::backward_weight, lowering.input(node, 0),
                                  lowering.input(node, 1)));
}

} // namespace troupe::gpu
