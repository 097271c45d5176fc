// Which products the nodes of a graph are.
#include "detail/products.hpp"

#include "detail/convert.hpp"
#include "troupe/core/fail.hpp"

namespace troupe::cpu {

namespace {

/// y += bias, row by row; done by one thread, as it is a small part of any network.
class AddBias final : public Step {
public:
  AddBias(const Node& node, StepPtr product, TensorId x, TensorId bias, const Tensor& y)
      : product_{std::move(product)}, x_{x}, bias_{bias}, y_{node.outputs[0]},
        rows_{static_cast<std::size_t>(y.shape[0])}, columns_{static_cast<std::size_t>(y.shape[1])},
        dtype_{y.dtype} {
    name = product_ ? product_->name + " + bias" : "bias";
    operations = product_ ? product_->operations : 0;
  }

  std::size_t scratch_bytes() const override { return product_ ? product_->scratch_bytes() : 0; }
  bool by_library_threads() const override { return product_ && product_->by_library_threads(); }

  Status run(const Frame& frame) override {
    if (product_)
      TROUPE_TRY(product_->run(frame));
    with_element(dtype_, [&]<class T>(T) { add<T>(frame); });
    return {};
  }

private:
  template <class T>
  void add(const Frame& frame) {
    factor_.assign(columns_, 1.0f);
    kernels().of<T>().normalize(frame.data<T>(x_), nullptr, frame.data<T>(y_),
                                {rows_ * columns_, columns_}, factor_.data(),
                                frame.data<float>(bias_), false);
  }

  StepPtr product_;
  TensorId x_, bias_, y_;
  std::size_t rows_, columns_;
  DType dtype_;
  std::vector<float> factor_;
};

/// dbias = sum over rows of dy.
class SumRows final : public Step {
public:
  SumRows(const Node& node, const Tensor& dy)
      : node_{node}, dtype_{dy.dtype}, rows_{static_cast<std::size_t>(dy.shape[0])},
        columns_{static_cast<std::size_t>(dy.shape[1])}, zeros_(columns_), squares_(columns_) {
    name = "bias backward";
  }

  Status run(const Frame& frame) override {
    with_element(dtype_, [&]<class T>(T) { sum<T>(frame); });
    return {};
  }

private:
  template <class T>
  void sum(const Frame& frame) {
    auto* const result = frame.data<float>(node_.outputs[0]);
    std::fill_n(result, columns_, 0.0f);
    kernels().of<T>().statistics(frame.data<T>(node_.inputs[0]), {rows_ * columns_, columns_},
                                 zeros_.data(), result, squares_.data());
  }

  Node node_;
  DType dtype_;
  std::size_t rows_, columns_;
  std::vector<float> zeros_, squares_;
};

Result<StepPtr> lower_product(Lowering& lowering, const Node& node, const ProductProblem& problem,
                              Direction direction) {
  if (direction == Direction::backward_weight)
    return std::make_unique<ProductBackwardWeights>(lowering, node, problem);
  const auto parameter = node.inputs[1];
  TROUPE_TRY(const auto copy,
             lowering.copy_of(parameter,
                              plain_weights(lowering.graph[parameter].shape, problem.computed),
                              problem.stored));
  if (direction == Direction::forward)
    return std::make_unique<ProductForward>(lowering, node, problem, copy);
  return std::make_unique<ProductBackwardData>(lowering, node, problem, copy);
}

/// `y`: or dy; `weight`: or dweight.
Result<StepPtr> lower_linear(Lowering& lowering, const Node& node, Direction direction, TensorId y,
                             TensorId weight) {
  const auto& rows = lowering.graph[y];
  const auto& shape = lowering.graph[weight].shape;
  return lower_product(lowering, node,
                       {.images = rows.shape[0],
                        .rows = 1,
                        .in = shape[1],
                        .out = shape[0],
                        .stored = rows.dtype,
                        .computed = lowering.compute_type(rows.dtype),
                        .grid = std::nullopt},
                       direction);
}

} // namespace

Result<StepPtr> lower_pointwise(Lowering& lowering, const Node& node, Direction direction) {
  const auto p = convolution_problem(lowering.graph, node, direction);
  ProductProblem problem{.images = p.batch,
                         .rows = p.out_height * p.out_width,
                         .in = p.in,
                         .out = p.out,
                         .stored = p.activations,
                         .computed = lowering.compute_type(p.activations),
                         .grid = std::nullopt};
  if (p.stride > 1)
    problem.grid = PixelGrid{p.height, p.width, p.in, p.stride};
  return lower_product(lowering, node, problem, direction);
}

Result<StepPtr> lower_matmul(Lowering& lowering, const Node& node) {
  const auto y = node.outputs[0];
  auto step = lower_linear(lowering, node, Direction::forward, y, node.inputs[1]);
  if (!step || node.inputs.size() < 3)
    return step;
  return std::make_unique<AddBias>(node, std::move(*step), y, node.inputs[2], lowering.graph[y]);
}

Result<StepPtr> lower_matmul_backward_data(Lowering& lowering, const Node& node) {
  return lower_linear(lowering, node, Direction::backward_data, node.inputs[0], node.inputs[1]);
}

Result<StepPtr> lower_matmul_backward_weight(Lowering& lowering, const Node& node) {
  return lower_linear(lowering, node, Direction::backward_weight, node.inputs[0], node.outputs[0]);
}

Result<StepPtr> lower_bias(Lowering& lowering, const Node& node) {
  return std::make_unique<AddBias>(node, nullptr, node.inputs[0], node.inputs[1],
                                   lowering.graph[node.outputs[0]]);
}

Result<StepPtr> lower_bias_backward(Lowering& lowering, const Node& node) {
  return std::make_unique<SumRows>(node, lowering.graph[node.inputs[0]]);
}

} // namespace troupe::cpu
