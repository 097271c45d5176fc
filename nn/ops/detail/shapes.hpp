/// Ops that reshape a tensor.
#pragma once

#include "nn/ops/detail/shape_checks.hpp"

namespace troupe::nn::ops {

inline OutputTypes infer_flatten(const Attributes&, Types inputs) {
  TROUPE_TRY(expect_count(inputs, 1));
  const auto& x = inputs[0];
  if (x.shape.rank() < 2 || x.shape[0] < 1)
    return wrong("x must be (N, ...), is {}", x.shape.to_string());
  return std::vector{TensorType{{x.shape[0], x.shape.elements() / x.shape[0]}, x.dtype}};
}

inline constexpr OpRecord flatten = {
    .op = Op::flatten,
    .infer = infer_flatten,
    .autocast = Autocast{AutocastRule::follow, "flatten"},
    .gradient = propagate_dy<Op::unflatten>,
    .clone = same_node,
    .in_place = 1,
};

inline constexpr auto unflatten = backward_op(Op::unflatten, check_inverse<Op::flatten>, 1);

inline OutputTypes infer_subsample_pad(const Attributes& attributes, Types inputs) {
  const auto& a = std::get<SubsamplePadAttributes>(attributes);
  TROUPE_TRY(expect_count(inputs, 1));
  const auto& x = inputs[0];
  TROUPE_TRY(expect_rank(x, 4, "x (N, H, W, C)"));
  TROUPE_TRY(expect_floating(x, "x"));
  if (a.stride < 1 || a.pad_before < 0 || a.pad_after < 0)
    return wrong("stride {} and channel padding {}, {} are invalid", a.stride, a.pad_before,
                 a.pad_after);
  return std::vector{
      TensorType{{x.shape[0], (x.shape[1] + a.stride - 1) / a.stride,
                  (x.shape[2] + a.stride - 1) / a.stride, x.shape[3] + a.pad_before + a.pad_after},
                 x.dtype}};
}

inline constexpr OpRecord subsample_pad = {
    .op = Op::subsample_pad,
    .infer = infer_subsample_pad,
    .autocast = Autocast{AutocastRule::follow, "pad"},
    .gradient = propagate_dy<Op::subsample_pad_backward>,
    .clone = same_node,
};

inline constexpr auto subsample_pad_backward =
    backward_op(Op::subsample_pad_backward, check_inverse<Op::subsample_pad>);

} // namespace troupe::nn::ops
