#include "shape_checks.hpp"

namespace troupe::nn {

namespace {

using Outputs = Result<std::vector<TensorType>>;

/// Weights are f32, or have the dtype of what they are multiplied with.
Status expect_weight(Op op, const TensorType& weight, const TensorType& x) {
  if (weight.dtype != DType::f32 && weight.dtype != x.dtype)
    return wrong(op, "weight must be f32 or {}, is {}", to_string(x.dtype),
                 to_string(weight.dtype));
  return {};
}

/// How many windows fit; 0 when none does.
std::int64_t window_count(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                          std::int64_t padding) {
  const auto room = size + 2 * padding - kernel;
  return room < 0 || stride < 1 ? 0 : room / stride + 1;
}

Outputs infer_conv2d(const Conv2dAttributes& a, Types inputs) {
  constexpr auto op = Op::conv2d;
  const std::size_t count = a.prologue ? 4 : 2;
  TROUPE_TRY(expect_count(op, inputs, count, count));
  const auto& x = inputs[0];
  const auto& w = inputs[1];
  TROUPE_TRY(expect_rank(op, x, 4, "x (N, H, W, C)"));
  TROUPE_TRY(expect_rank(op, w, 4, "weight (O, I, KH, KW)"));
  TROUPE_TRY(expect_floating(op, x, "x"));
  TROUPE_TRY(expect_weight(op, w, x));
  if (w.shape[2] != a.kernel || w.shape[3] != a.kernel)
    return wrong(op, "the kernel is {}x{}, the weight {}", a.kernel, a.kernel, w.shape.to_string());
  if (w.shape[1] + a.padded_channels != x.shape[3])
    return wrong(op, "x has {} channels, the weight takes {}", x.shape[3], w.shape[1]);
  if (a.prologue)
    TROUPE_TRY(expect_channels(op, inputs.subspan(2), x.shape[3], "factor", "offset"));
  const auto h = window_count(x.shape[1], a.kernel, a.stride, a.padding);
  const auto width = window_count(x.shape[2], a.kernel, a.stride, a.padding);
  if (h < 1 || width < 1)
    return wrong(op, "an image of {} is too small for kernel {}, stride {}, padding {}",
                 x.shape.to_string(), a.kernel, a.stride, a.padding);
  const TensorType y{{x.shape[0], h, width, w.shape[0]}, x.dtype};
  const TensorType sums{{w.shape[0]}, DType::f32};
  return a.statistics ? std::vector{y, sums, sums} : std::vector{y};
}

Outputs infer_batch_norm(const BatchNormAttributes& a, Types inputs) {
  constexpr auto op = Op::batch_norm;
  const std::size_t count = a.add ? 6 : 5;
  TROUPE_TRY(expect_count(op, inputs, count, count));
  const auto& x = inputs[0];
  TROUPE_TRY(expect_floating(op, x, "x"));
  if (x.shape.rank() < 2)
    return wrong(op, "x must be (N, ..., C), is {}", x.shape.to_string());
  const TensorType channels{{x.shape.dims.back()}, DType::f32};
  TROUPE_TRY(expect_type(op, inputs[1], channels, "scale"));
  TROUPE_TRY(expect_type(op, inputs[2], channels, "shift"));
  TROUPE_TRY(expect_type(op, inputs[3], channels, "running_mean"));
  TROUPE_TRY(expect_type(op, inputs[4], channels, "running_var"));
  if (a.add)
    TROUPE_TRY(expect_type(op, inputs[5], x, "residual"));
  if (!a.training)
    return std::vector{x};
  // As PyTorch: one value has no variance.
  if (x.shape.elements() / x.shape.dims.back() < 2)
    return wrong(op, "training needs more than one value per channel, x is {}",
                 x.shape.to_string());
  return std::vector{x, channels, channels};
}

Outputs infer_finalize(const FinalizeAttributes& a, Types inputs) {
  constexpr auto op = Op::batch_norm_finalize;
  TROUPE_TRY(expect_count(op, inputs, 6, 6));
  TROUPE_TRY(expect_rank(op, inputs[0], 1, "sum (C)"));
  TROUPE_TRY(expect_channels(op, inputs, inputs[0].shape[0], "sum", "sum_of_squares", "scale",
                             "shift", "running_mean", "running_var"));
  if (a.count < 2)
    return wrong(op, "needs more than one value per channel, has {}", a.count);
  return std::vector(4, inputs[0]);
}

Outputs infer_scale_shift(Types inputs) {
  constexpr auto op = Op::scale_shift;
  if (inputs.size() != 3 && inputs.size() != 4 && inputs.size() != 6)
    return wrong(op, "takes 3, 4 or 6 inputs, has {}", inputs.size());
  const auto& x = inputs[0];
  TROUPE_TRY(expect_floating(op, x, "x"));
  if (x.shape.rank() < 2)
    return wrong(op, "x must be (N, ..., C), is {}", x.shape.to_string());
  const auto channels = x.shape.dims.back();
  TROUPE_TRY(expect_channels(op, inputs.subspan(1), channels, "factor", "offset"));
  if (inputs.size() > 3)
    TROUPE_TRY(expect_type(op, inputs[3], x, "residual"));
  if (inputs.size() > 4)
    TROUPE_TRY(expect_channels(op, inputs.subspan(4), channels, "the residual's factor",
                               "the residual's offset"));
  return std::vector{x};
}

Outputs infer_pool(Op op, const PoolAttributes& a, Types inputs) {
  TROUPE_TRY(expect_count(op, inputs, 1, 1));
  const auto& x = inputs[0];
  TROUPE_TRY(expect_rank(op, x, 4, "x (N, H, W, C)"));
  TROUPE_TRY(expect_floating(op, x, "x"));
  if (2 * a.padding > a.kernel_h || 2 * a.padding > a.kernel_w)
    return wrong(op, "padding {} is more than half of the {}x{} window", a.padding, a.kernel_h,
                 a.kernel_w);
  const auto h = window_count(x.shape[1], a.kernel_h, a.stride, a.padding);
  const auto w = window_count(x.shape[2], a.kernel_w, a.stride, a.padding);
  if (h < 1 || w < 1)
    return wrong(op, "an image of {} is too small for a window of {}x{}", x.shape.to_string(),
                 a.kernel_h, a.kernel_w);
  const Shape shape{x.shape[0], h, w, x.shape[3]};
  if (op == Op::avg_pool)
    return std::vector{TensorType{shape, x.dtype}};
  return std::vector{TensorType{shape, x.dtype}, TensorType{shape, DType::i32}};
}

Outputs infer_subsample_pad(const SubsamplePadAttributes& a, Types inputs) {
  constexpr auto op = Op::subsample_pad;
  TROUPE_TRY(expect_count(op, inputs, 1, 1));
  const auto& x = inputs[0];
  TROUPE_TRY(expect_rank(op, x, 4, "x (N, H, W, C)"));
  TROUPE_TRY(expect_floating(op, x, "x"));
  if (a.stride < 1 || a.pad_before < 0 || a.pad_after < 0)
    return wrong(op, "stride {} and channel padding {}, {} make no sense", a.stride, a.pad_before,
                 a.pad_after);
  return std::vector{
      TensorType{{x.shape[0], (x.shape[1] + a.stride - 1) / a.stride,
                  (x.shape[2] + a.stride - 1) / a.stride, x.shape[3] + a.pad_before + a.pad_after},
                 x.dtype}};
}

Outputs infer_flatten(Types inputs) {
  TROUPE_TRY(expect_count(Op::flatten, inputs, 1, 1));
  const auto& x = inputs[0];
  if (x.shape.rank() < 2 || x.shape[0] < 1)
    return wrong(Op::flatten, "x must be (N, ...), is {}", x.shape.to_string());
  return std::vector{TensorType{{x.shape[0], x.shape.elements() / x.shape[0]}, x.dtype}};
}

Outputs infer_matmul(Types inputs) {
  constexpr auto op = Op::matmul;
  TROUPE_TRY(expect_count(op, inputs, 2, 3));
  const auto& x = inputs[0];
  const auto& w = inputs[1];
  TROUPE_TRY(expect_rank(op, x, 2, "x (N, in)"));
  TROUPE_TRY(expect_rank(op, w, 2, "weight (out, in)"));
  TROUPE_TRY(expect_floating(op, x, "x"));
  TROUPE_TRY(expect_weight(op, w, x));
  if (x.shape[1] != w.shape[1])
    return wrong(op, "x has {} features, the weight takes {}", x.shape[1], w.shape[1]);
  if (inputs.size() == 3)
    TROUPE_TRY(expect_type(op, inputs[2], {{w.shape[0]}, DType::f32}, "bias"));
  return std::vector{TensorType{{x.shape[0], w.shape[0]}, x.dtype}};
}

Outputs infer_bias(Types inputs) {
  TROUPE_TRY(expect_count(Op::bias, inputs, 2, 2));
  TROUPE_TRY(expect_rank(Op::bias, inputs[0], 2, "x (N, C)"));
  TROUPE_TRY(expect_floating(Op::bias, inputs[0], "x"));
  TROUPE_TRY(expect_type(Op::bias, inputs[1], {{inputs[0].shape[1]}, DType::f32}, "bias"));
  return std::vector{inputs[0]};
}

Outputs infer_loss(Op op, Types inputs) {
  TROUPE_TRY(expect_count(op, inputs, 2, 2));
  const auto& prediction = inputs[0];
  TROUPE_TRY(expect_rank(op, prediction, 2, "the prediction (N, C)"));
  if (prediction.dtype != DType::f32)
    return wrong(op, "the prediction must be f32, is {}", to_string(prediction.dtype));
  const bool regression = op == Op::mean_squared_error && inputs[1].dtype == DType::f32;
  TROUPE_TRY(expect_type(op, inputs[1],
                         regression ? prediction : TensorType{{prediction.shape[0]}, DType::i32},
                         regression ? "the target" : "labels"));
  const TensorType scalar{Shape{}, DType::f32};
  if (op == Op::softmax_cross_entropy)
    return std::vector{scalar, prediction};
  return std::vector{scalar};
}

Outputs infer_elementwise(Op op, Types inputs, std::size_t count) {
  TROUPE_TRY(expect_count(op, inputs, count, count));
  TROUPE_TRY(expect_floating(op, inputs[0], "x"));
  for (const auto& input : inputs.subspan(1))
    TROUPE_TRY(expect_type(op, input, inputs[0], "b"));
  return std::vector{inputs[0]};
}

std::vector<TensorType> types_of(const Graph& graph, const std::vector<TensorId>& ids) {
  std::vector<TensorType> types;
  types.reserve(ids.size());
  for (const auto id : ids)
    types.push_back({graph[id].shape, graph[id].dtype});
  return types;
}

} // namespace

Outputs infer_outputs(Op op, const Attributes& attributes, Types inputs) {
  switch (op) {
  case Op::conv2d:
    return infer_conv2d(std::get<Conv2dAttributes>(attributes), inputs);
  case Op::batch_norm:
    return infer_batch_norm(std::get<BatchNormAttributes>(attributes), inputs);
  case Op::batch_norm_finalize:
    return infer_finalize(std::get<FinalizeAttributes>(attributes), inputs);
  case Op::scale_shift:
    return infer_scale_shift(inputs);
  case Op::relu:
    return infer_elementwise(op, inputs, 1);
  case Op::add:
    return infer_elementwise(op, inputs, 2);
  case Op::max_pool:
  case Op::avg_pool:
    return infer_pool(op, std::get<PoolAttributes>(attributes), inputs);
  case Op::subsample_pad:
    return infer_subsample_pad(std::get<SubsamplePadAttributes>(attributes), inputs);
  case Op::flatten:
    return infer_flatten(inputs);
  case Op::matmul:
    return infer_matmul(inputs);
  case Op::bias:
    return infer_bias(inputs);
  case Op::softmax_cross_entropy:
  case Op::mean_squared_error:
  case Op::count_correct:
    return infer_loss(op, inputs);
  default:
    return fail(Errc::internal, "{} has no rule for its outputs", to_string(op));
  }
}

DType read_type(const Graph& graph, const Node& node, std::size_t input) {
  const bool multiplies = node.op == Op::conv2d || node.op == Op::conv2d_backward_data ||
                          node.op == Op::matmul || node.op == Op::matmul_backward_data;
  return graph[node.inputs[multiplies && input == 1 ? 0 : input]].dtype;
}

DType computed_type(const Graph& graph, const Node& node) {
  return node.op == Op::cast ? graph[node.outputs[0]].dtype : read_type(graph, node, 0);
}

Status check_node(const Graph& graph, const Node& node) {
  const auto in = types_of(graph, node.inputs), out = types_of(graph, node.outputs);
  if (node.op > Op::count_correct)
    return check_backward(node, in, out);
  if (node.op == Op::cast) {
    if (in.size() != 1 || out.size() != 1 || in[0].shape != out[0].shape)
      return wrong(node.op, "x and y must have one shape");
    return {};
  }
  const auto expected = infer_outputs(node.op, node.attributes, in);
  if (!expected)
    return failure(expected.error());
  if (expected->size() != out.size())
    return wrong(node.op, "gives {} outputs, has {}", expected->size(), out.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    TROUPE_TRY(expect_type(node.op, out[i], (*expected)[i], "an output"));
  return {};
}

} // namespace troupe::nn
