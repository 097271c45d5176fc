// Maps the matrix nodes of a graph to products.
#include "core/fail.hpp"
#include "cpu/onednn/detail/convert.hpp"
#include "cpu/onednn/detail/products.hpp"
#include "cpu/onednn/detail/row_sums.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

/// Whether reading the weight once for many rows, as the library does, has no benefit, or the
/// library cannot output f32.
bool suits_row_products(const Lowering& lowering, const Node& node) {
  const auto &x = lowering.graph[node.inputs[0]], &y = lowering.graph[node.outputs[0]];
  return x.shape[0] == 1 || x.dtype != y.dtype;
}

/// y = x * weight^T of few rows: each row reads the whole weight, in the type of x, which may halve
/// the bytes. `copy`: of the weight; null if the weight itself is read.
template <class T>
StepPtr row_products(const Lowering& lowering, const Node& node, const ParameterCopy* copy) {
  const auto &x = lowering.graph[node.inputs[0]], &y = lowering.graph[node.outputs[0]];
  const auto rows = x.shape.size(0), in = x.shape.size(1), out = y.shape.size(1);
  const auto x_bytes = aligned(in * sizeof(float)), y_bytes = aligned(out * sizeof(float));
  const auto run = [=, type = y.dtype](const NodeFrame& frame) -> Status {
    // a row of x and its result
    auto* const wide_x = reinterpret_cast<float*>(frame.scratch());
    auto* const wide_y = reinterpret_cast<float*>(frame.scratch() + x_bytes);
    const auto* const weight = copy ? reinterpret_cast<const T*>(copy->data()) : frame.in<T>(1);
    for (std::size_t row = 0; row < rows; ++row) {
      kernels().of<T>().widen(frame.in<T>(0) + row * in, wide_x, in);
      parallel_for(out, 16, [&](std::size_t begin, std::size_t end) {
        kernels().of<T>().row_products(wide_x, weight + begin * in, in, wide_y + begin,
                                       end - begin);
      });
      narrow(type, wide_y, frame.out<std::byte>(0) + row * out * size_of(type), out);
    }
    return {};
  };
  const auto weights = static_cast<double>(rows * in * out);
  auto step = function_step(node, weights * sizeof(T), x_bytes + y_bytes, run);
  step->name = "product of rows";
  step->operations = 2.0 * weights;
  return step;
}

Result<StepPtr> lower_row_products(Lowering& lowering, const Node& node) {
  const auto type = lowering.graph[node.inputs[0]].dtype;
  const auto weight = node.inputs[1];
  const ParameterCopy* copy = nullptr;
  if (type != DType::f32) {
    const auto elements = lowering.graph[weight].shape.count();
    const auto round = [type, elements](std::byte* parameter, std::byte* to) {
      narrow_together(type, reinterpret_cast<const float*>(parameter), to, elements);
    };
    TROUPE_TRY(copy, lowering.copy_of(weight, elements * size_of(type), round));
  }
  return with_element(type, [&]<class T>(T) { return row_products<T>(lowering, node, copy); });
}

/// y = x + bias, row by row; the bias is the last input. With a product, its result is x.
class AddBias final : public Step {
public:
  AddBias(const Tensor& y, const Node& node, StepPtr product)
      : product_{std::move(product)}, x_{product_ ? node.outputs[0] : node.inputs[0]},
        bias_{node.inputs.back()}, y_{node.outputs[0]}, rows_{y.shape.size(0)},
        columns_{y.shape.size(1)}, dtype_{y.dtype} {
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
    const auto grain = std::max<std::size_t>(elementwise_grain / columns_, 1);
    parallel_for(rows_, grain, [&](std::size_t begin, std::size_t end) {
      const std::size_t at = begin * columns_;
      kernels().of<T>().normalize(frame.data<T>(x_) + at, nullptr, frame.data<T>(y_) + at,
                                  {(end - begin) * columns_, columns_}, factor_.data(),
                                  frame.data<float>(bias_), false);
    });
  }

  StepPtr product_;
  TensorId x_, bias_, y_;
  std::size_t rows_, columns_;
  DType dtype_;
  std::vector<float> factor_;
};

/// Whether a product of activations of this type adds the bias itself, before it rounds.
bool adds_bias(const Lowering& lowering, const Node& node) {
  const auto& y = lowering.graph[node.outputs[0]];
  return lowering.compute_type(y.dtype) == DType::bf16 && !suits_row_products(lowering, node);
}

/// Other devices ask for products with gelu or a bias's gradient (nn/passes/fuse_linear).
Status expect_plain(const Lowering& lowering, const Node& node) {
  const auto* const attributes = std::get_if<MatmulAttributes>(&node.attributes);
  if (attributes && (attributes->gelu || attributes->bias_gradient))
    return failure(unsupported(lowering.graph, node));
  return {};
}

/// `y`: y or dy. `weight`: weight or dweight.
Result<StepPtr> lower_linear(Lowering& lowering, const Node& node, Direction direction, TensorId y,
                             TensorId weight) {
  TROUPE_TRY(expect_plain(lowering, node));
  const auto& rows = lowering.graph[y];
  const auto& shape = lowering.graph[weight].shape;
  return lower_product(lowering, node,
                       {.images = rows.shape[0],
                        .rows = 1,
                        .in = shape[1],
                        .out = shape[0],
                        .stored = rows.dtype,
                        .computed = lowering.compute_type(rows.dtype),
                        .bias = direction == Direction::forward && node.inputs.size() == 3 &&
                                adds_bias(lowering, node)},
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
                         .computed = lowering.compute_type(p.activations)};
  if (p.stride > 1)
    problem.grid = PixelGrid{p.height, p.width, p.in, p.stride};
  return lower_product(lowering, node, problem, direction);
}

Result<StepPtr> lower_matmul(Lowering& lowering, const Node& node) {
  TROUPE_TRY(expect_plain(lowering, node));
  const auto y = node.outputs[0];
  TROUPE_TRY(auto step, suits_row_products(lowering, node)
                            ? lower_row_products(lowering, node)
                            : lower_linear(lowering, node, Direction::forward, y, node.inputs[1]));
  if (node.inputs.size() < 3 || adds_bias(lowering, node))
    return step;
  return std::make_unique<AddBias>(lowering.graph[y], node, std::move(step));
}

Result<StepPtr> lower_matmul_backward_data(Lowering& lowering, const Node& node) {
  return lower_linear(lowering, node, Direction::backward_data, node.inputs[0], node.inputs[1]);
}

Result<StepPtr> lower_matmul_backward_weight(Lowering& lowering, const Node& node) {
  return lower_linear(lowering, node, Direction::backward_weight, node.inputs[0], node.outputs[0]);
}

Result<StepPtr> lower_bias(Lowering& lowering, const Node& node) {
  return std::make_unique<AddBias>(lowering.graph[node.outputs[0]], node, nullptr);
}

/// dbias = sum over rows of dy.
Result<StepPtr> lower_bias_backward(Lowering& lowering, const Node& node) {
  const auto& dy = lowering.graph[node.inputs[0]];
  const auto rows = dy.shape.size(0), columns = dy.shape.size(1);
  const RowSums sums{columns, static_cast<std::size_t>(lowering.options.threads)};
  const auto bytes = static_cast<double>(rows * columns * size_of(dy.dtype));
  auto step = with_element(dy.dtype, [&]<class T>(T) {
    return function_step(node, bytes, sums.scratch_bytes(), [=](const NodeFrame& frame) -> Status {
      const auto* const from = frame.in<T>(0);
      auto* const to = frame.out<float>(0);
      sums.run(
          frame.scratch(), rows, std::max<std::size_t>(elementwise_grain / columns, 1),
          [&](float* block, std::size_t row, std::size_t count) {
            kernels().of<T>().add_rows(from + row * columns, {count * columns, columns}, block);
          },
          [&](std::size_t i, float sum) { to[i] = sum; });
      return {};
    });
  });
  step->name = "bias backward";
  return step;
}

} // namespace troupe::cpu
