/// Pooling ops.
#pragma once

#include "nn/ops/detail/shape_checks.hpp"

namespace troupe::nn::ops {

/// Returns the output shape of pooling x.
inline Result<Shape> pooled_shape(const Attributes& attributes, Types inputs) {
  const auto& a = std::get<PoolAttributes>(attributes);
  TROUPE_TRY(expect_count(inputs, a.prologue ? 3 : 1));
  const auto& x = inputs[0];
  TROUPE_TRY(expect_rank(x, 4, "x (N, H, W, C)"));
  TROUPE_TRY(expect_floating(x, "x"));
  if (a.prologue)
    TROUPE_TRY(expect_channels(inputs.subspan(1), x.shape[3], "factor", "offset"));
  if (2 * a.padding > a.kernel_h || 2 * a.padding > a.kernel_w)
    return wrong("padding {} is more than half of the {}x{} window", a.padding, a.kernel_h,
                 a.kernel_w);
  const auto h = window_count(x.shape[1], a.kernel_h, a.stride, a.padding);
  const auto w = window_count(x.shape[2], a.kernel_w, a.stride, a.padding);
  if (h < 1 || w < 1)
    return wrong("an image of {} is too small for a window of {}x{}", x.shape.to_string(),
                 a.kernel_h, a.kernel_w);
  return Shape{x.shape[0], h, w, x.shape[3]};
}

inline OutputTypes infer_max_pool(const Attributes& attributes, Types inputs) {
  TROUPE_TRY(const auto shape, pooled_shape(attributes, inputs));
  return std::vector{TensorType{shape, inputs[0].dtype}, TensorType{shape, DType::i32}};
}

inline constexpr OpRecord max_pool = {
    .op = Op::max_pool,
    .infer = infer_max_pool,
    .autocast = Autocast{AutocastRule::follow, "max_pool2d"},
    .gradient = propagate_with_output<Op::max_pool_backward, 1>,
    .clone = same_node,
};

inline Status check_max_pool_backward(const Attributes& attributes, Types in, Types out) {
  TROUPE_TRY(expect_counts(in, 2, out, 1));
  TROUPE_TRY(expect_type(in[1], {in[0].shape, DType::i32}, "saved index"));
  return expect_inverse(Op::max_pool, attributes, {out[0]}, in[0]);
}

inline constexpr auto max_pool_backward =
    backward_op(Op::max_pool_backward, check_max_pool_backward);

inline OutputTypes infer_avg_pool(const Attributes& attributes, Types inputs) {
  if (std::get<PoolAttributes>(attributes).prologue)
    return wrong("has no prologue");
  TROUPE_TRY(const auto shape, pooled_shape(attributes, inputs));
  return std::vector{TensorType{shape, inputs[0].dtype}};
}

inline constexpr OpRecord avg_pool = {
    .op = Op::avg_pool,
    .infer = infer_avg_pool,
    .autocast = Autocast{AutocastRule::follow, "avg_pool2d"},
    .gradient = propagate_dy<Op::avg_pool_backward>,
    .clone = same_node,
};

inline constexpr auto avg_pool_backward =
    backward_op(Op::avg_pool_backward, check_inverse<Op::avg_pool>);

} // namespace troupe::nn::ops
