#include "shape_checks.hpp"

#include <array>

namespace troupe::nn {

namespace {

/// A backward op is right when the forward op, run from its result, gives its gradient.
Status expect_inverse(Op op, Op forward, const Attributes& attributes, Types forward_inputs,
                      const TensorType& gradient) {
  const auto outputs = infer_outputs(forward, attributes, forward_inputs);
  if (!outputs)
    return wrong(op, "{}", outputs.error().message);
  return expect_type(op, gradient, outputs->front(), "dy");
}

Status check_batch_norm_backward(const BatchNormAttributes& a, Types in, Types out) {
  constexpr auto op = Op::batch_norm_backward;
  const std::size_t least = a.relu ? 6 : 5, most = a.relu && !a.add ? 7 : least;
  const std::size_t outputs = a.add ? 4 : 3;
  TROUPE_TRY(expect_count(op, in, least, most));
  if (out.size() != outputs)
    return wrong(op, "gives {} outputs, has {}", outputs, out.size());
  const auto& x = in[1];
  const TensorType channels{{x.shape.dims.back()}, DType::f32};
  TROUPE_TRY(expect_type(op, in[0], x, "dy"));
  TROUPE_TRY(expect_channels(op, in.subspan(2), channels.shape[0], "scale", "saved_mean",
                             "saved_inv_std"));
  if (in.size() == 6)
    TROUPE_TRY(expect_type(op, in[5], x, "y"));
  if (in.size() == 7)
    TROUPE_TRY(expect_channels(op, in.subspan(5), channels.shape[0], "factor", "offset"));
  TROUPE_TRY(expect_type(op, out[0], x, "dx"));
  TROUPE_TRY(expect_channels(op, out.subspan(1), channels.shape[0], "dscale", "dshift"));
  return a.add ? expect_type(op, out[3], x, "dresidual") : Status{};
}

Status check_normalize(const BatchNormAttributes& a, Types in, Types out) {
  constexpr auto op = Op::normalize;
  const std::size_t count = a.add ? 6 : 5;
  TROUPE_TRY(expect_count(op, in, count, count));
  if (out.size() != 1 || in[0].shape.rank() < 2)
    return wrong(op, "takes x (N, ..., C) and gives y");
  TROUPE_TRY(expect_floating(op, in[0], "x"));
  TROUPE_TRY(expect_channels(op, in.subspan(1), in[0].shape.dims.back(), "scale", "shift",
                             "saved_mean", "saved_inv_std"));
  if (a.add)
    TROUPE_TRY(expect_type(op, in[5], in[0], "the residual"));
  return expect_type(op, out[0], in[0], "y");
}

/// dy, weight, x, scale, shift, saved_mean, saved_inv_std -> dz, dscale, dshift, three factors.
Status check_backward_data_batch_norm(const Conv2dAttributes& a, Types in, Types out) {
  constexpr auto op = Op::conv2d_backward_data;
  TROUPE_TRY(expect_count(op, in, 7, 7));
  if (out.size() != 6)
    return wrong(op, "gives 6 outputs with batch_norm_relu, has {}", out.size());
  const std::array forward = {out[0], in[1]};
  TROUPE_TRY(expect_inverse(op, Op::conv2d, a, forward, in[0]));
  TROUPE_TRY(expect_type(op, in[2], out[0], "x"));
  const auto channels = out[0].shape[3];
  TROUPE_TRY(expect_channels(op, in.subspan(3), channels, "scale", "shift", "saved_mean",
                             "saved_inv_std"));
  return expect_channels(op, out.subspan(1), channels, "dscale", "dshift", "dy_factor", "x_factor",
                         "offset");
}

Status check_input_gradient(Types in, Types out) {
  constexpr auto op = Op::batch_norm_input_gradient;
  TROUPE_TRY(expect_count(op, in, 5, 5));
  if (out.size() != 1 || in[0].shape.rank() < 2)
    return wrong(op, "takes dy (N, ..., C) and gives dx");
  TROUPE_TRY(expect_floating(op, in[0], "dy"));
  TROUPE_TRY(expect_type(op, in[1], in[0], "x"));
  TROUPE_TRY(expect_channels(op, in.subspan(2), in[0].shape.dims.back(), "dy_factor", "x_factor",
                             "offset"));
  return expect_type(op, out[0], in[0], "dx");
}

Status check_backward_weight(const Conv2dAttributes& a, Types in, Types out) {
  constexpr auto op = Op::conv2d_backward_weight;
  const std::size_t count = a.prologue ? 4 : 2;
  TROUPE_TRY(expect_count(op, in, count, count));
  if (out.size() != 1)
    return wrong(op, "gives 1 output, has {}", out.size());
  std::vector<TensorType> forward = {in[1], out[0]};
  forward.insert(forward.end(), in.begin() + 2, in.end());
  return expect_inverse(op, Op::conv2d, a, forward, in[0]);
}

Status check_loss_backward(Op op, Types in, Types out) {
  TROUPE_TRY(expect_count(op, in, 2, 3));
  if (out.size() != 1)
    return wrong(op, "gives 1 output, has {}", out.size());
  TROUPE_TRY(infer_outputs(op == Op::softmax_cross_entropy_backward ? Op::softmax_cross_entropy
                                                                    : Op::mean_squared_error,
                           {}, in.first(2)));
  if (in.size() == 3)
    TROUPE_TRY(expect_type(op, in[2], {Shape{}, DType::f32}, "loss_scale"));
  return expect_type(op, out[0], in[0], "dprediction");
}

} // namespace

Status check_backward(const Node& node, Types in, Types out) {
  const auto op = node.op;
  if (op == Op::batch_norm_backward)
    return check_batch_norm_backward(std::get<BatchNormAttributes>(node.attributes), in, out);
  if (op == Op::normalize)
    return check_normalize(std::get<BatchNormAttributes>(node.attributes), in, out);
  if (op == Op::batch_norm_input_gradient)
    return check_input_gradient(in, out);
  if (op == Op::conv2d_backward_weight)
    return check_backward_weight(std::get<Conv2dAttributes>(node.attributes), in, out);
  if (op == Op::conv2d_backward_data && std::get<Conv2dAttributes>(node.attributes).batch_norm_relu)
    return check_backward_data_batch_norm(std::get<Conv2dAttributes>(node.attributes), in, out);
  if (op == Op::softmax_cross_entropy_backward || op == Op::mean_squared_error_backward)
    return check_loss_backward(op, in, out);
  const std::size_t takes = op == Op::avg_pool_backward || op == Op::subsample_pad_backward ||
                                    op == Op::unflatten || op == Op::bias_backward
                                ? 1
                                : 2;
  TROUPE_TRY(expect_count(op, in, takes, takes));
  if (out.size() != 1)
    return wrong(op, "gives 1 output, has {}", out.size());
  const auto& dx = out[0];
  const auto inverse = [&](Op forward, std::initializer_list<TensorType> inputs) {
    return expect_inverse(op, forward, node.attributes, {inputs.begin(), inputs.size()}, in[0]);
  };
  switch (op) {
  case Op::conv2d_backward_data:
    return inverse(Op::conv2d, {dx, in[1]});
  case Op::matmul_backward_data:
    return inverse(Op::matmul, {dx, in[1]});
  case Op::matmul_backward_weight:
    return inverse(Op::matmul, {in[1], dx});
  case Op::relu_backward:
    TROUPE_TRY(expect_type(op, in[1], in[0], "y"));
    return expect_type(op, dx, in[0], "dx");
  case Op::max_pool_backward:
    TROUPE_TRY(expect_type(op, in[1], {in[0].shape, DType::i32}, "saved index"));
    return inverse(Op::max_pool, {dx});
  case Op::avg_pool_backward:
    return inverse(Op::avg_pool, {dx});
  case Op::subsample_pad_backward:
    return inverse(Op::subsample_pad, {dx});
  case Op::unflatten:
    return inverse(Op::flatten, {dx});
  case Op::bias_backward:
    return inverse(Op::bias, {in[0], dx});
  default:
    return fail(Errc::internal, "{} has no shape rule", to_string(op));
  }
}

} // namespace troupe::nn
