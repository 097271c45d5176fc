#include "core/fail.hpp"
#include "gpu/kernels/elementwise.hpp"
#include "gpu/lowering/lowering.hpp"
#include "gpu/lowering/storage.hpp"

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
             : lowering.view_weight(parameter_of(lowering.graph, node.inputs[1]), o.operands);
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

/// A product with its epilogue.
StepPtr fused_step(const Lowering& lowering, const Node& node, const MatmulOptions& o,
                   Matmul matmul) {
  return kernel_step(node, product_workspace,
                     [bias = bias_of(lowering, node, o), o,
                      second = second_factor(lowering, node, o),
                      matmul = std::move(matmul)](const NodeLaunch& l) {
                       return matmul.run(l.stream, {.first = l.in(0),
                                                    .second = second.data(l),
                                                    .result = l.out(0),
                                                    .workspace = l.workspace(),
                                                    .bias = bias ? bias->data(l) : nullptr,
                                                    .gelu_input = gelu_input(o, l)});
                     });
}

/// Computes what the epilogue of a product computes.
void launch_epilogue(const MatmulOptions& o, const NodeLaunch& l, void* product) {
  const auto elements = [&o](std::int64_t columns) {
    return static_cast<std::size_t>(o.rows * columns);
  };
  switch (o.product) {
  case Product::forward:
    if (o.bias)
      launch_bias(l.stream, o.result, product, l.in<float>(2), product, o.rows, o.out);
    if (o.gelu)
      launch_gelu(l.stream, o.result, product, l.out(0), elements(o.out), true);
    return;
  case Product::backward_data:
    return launch_gelu_backward(l.stream, o.result, product, l.in(2), product, elements(o.in),
                                true);
  case Product::backward_weight:
    return launch_bias_backward(l.stream, o.operands, l.in(0), l.out<float>(1), o.rows, o.out,
                                l.reductions);
  }
}

/// A plain product, then kernels of this project.
StepPtr separate_step(const Lowering& lowering, const Node& node, const MatmulOptions& o,
                      Matmul matmul) {
  return kernel_step(
      node, product_workspace,
      [o, second = second_factor(lowering, node, o),
       matmul = std::move(matmul)](const NodeLaunch& l) -> Status {
        auto* const product = o.gelu && o.product == Product::forward ? l.out(1) : l.out(0);
        TROUPE_TRY(matmul.run(l.stream, {l.in(0), second.data(l), product, l.workspace()}));
        launch_epilogue(o, l, product);
        return {};
      });
}

Result<StepPtr> lower_product(Lowering& lowering, const Node& node, const MatmulOptions& options) {
  auto matmul = lowering.product(options);
  if (matmul)
    return fused_step(lowering, node, options, std::move(*matmul));
  if (matmul.error().code != Errc::unsupported || !(options.bias || options.gelu))
    return failure(std::move(matmul).error());
  auto plain = options;
  plain.bias = plain.gelu = false;
  TROUPE_TRY(auto product, lowering.product(plain));
  return separate_step(lowering, node, options, std::move(product));
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
