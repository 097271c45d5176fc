/// Convolutions.
#pragma once

#include "detail/products.hpp"

namespace troupe::nn::ops {

inline OutputTypes infer_conv2d(const Attributes& attributes, Types inputs) {
  const auto& a = std::get<Conv2dAttributes>(attributes);
  TROUPE_TRY(expect_count(inputs, a.prologue ? 4 : 2));
  const auto& x = inputs[0];
  const auto& w = inputs[1];
  TROUPE_TRY(expect_rank(x, 4, "x (N, H, W, C)"));
  TROUPE_TRY(expect_rank(w, 4, "weight (O, I, KH, KW)"));
  TROUPE_TRY(expect_floating(x, "x"));
  TROUPE_TRY(expect_weight(w, x));
  if (w.shape[2] != a.kernel || w.shape[3] != a.kernel)
    return wrong("the kernel is {}x{}, the weight {}", a.kernel, a.kernel, w.shape.to_string());
  if (w.shape[1] + a.padded_channels != x.shape[3])
    return wrong("x has {} channels, the weight takes {}", x.shape[3], w.shape[1]);
  if (a.prologue)
    TROUPE_TRY(expect_channels(inputs.subspan(2), x.shape[3], "factor", "offset"));
  const auto h = window_count(x.shape[1], a.kernel, a.stride, a.padding);
  const auto width = window_count(x.shape[2], a.kernel, a.stride, a.padding);
  if (h < 1 || width < 1)
    return wrong("an image of {} is too small for kernel {}, stride {}, padding {}",
                 x.shape.to_string(), a.kernel, a.stride, a.padding);
  const TensorType y{{x.shape[0], h, width, w.shape[0]}, x.dtype};
  const TensorType sums{{w.shape[0]}, DType::f32};
  return a.statistics ? std::vector{y, sums, sums} : std::vector{y};
}

inline Status differentiate_conv2d(Propagation& to, const Node& node, TensorId dy) {
  // The weight's gradient first: afterwards x's memory is free for dx.
  to.propagate(Op::conv2d_backward_weight, node, 1, {dy, node.inputs[0]});
  to.propagate(Op::conv2d_backward_data, node, 0, {dy, node.inputs[1]});
  return {};
}

inline constexpr OpRecord conv2d = {
    .op = Op::conv2d,
    .infer = infer_conv2d,
    .autocast = Autocast{AutocastRule::lower_precision, "conv2d"},
    .rounded = InputSet::only({1}),
    .gradient = differentiate_conv2d,
    .clone = same_node,
    .cost = cost_of_forward,
};

/// dy, weight, x, scale, shift, saved_mean, saved_inv_std -> dz, dscale, dshift, three factors.
inline Status check_backward_data_batch_norm(const Attributes& attributes, Types in, Types out) {
  TROUPE_TRY(expect_count(in, 7));
  if (out.size() != 6)
    return wrong("gives 6 outputs with batch_norm_relu, has {}", out.size());
  TROUPE_TRY(expect_inverse(Op::conv2d, attributes, {out[0], in[1]}, in[0]));
  TROUPE_TRY(expect_type(in[2], out[0], "x"));
  const auto channels = out[0].shape[3];
  TROUPE_TRY(
      expect_channels(in.subspan(3), channels, "scale", "shift", "saved_mean", "saved_inv_std"));
  return expect_channels(out.subspan(1), channels, "dscale", "dshift", "dy_factor", "x_factor",
                         "offset");
}

inline Status check_conv2d_backward_data(const Attributes& attributes, Types in, Types out) {
  if (std::get<Conv2dAttributes>(attributes).batch_norm_relu)
    return check_backward_data_batch_norm(attributes, in, out);
  TROUPE_TRY(expect_count(in, 2));
  TROUPE_TRY(expect_outputs(out, 1));
  return expect_inverse(Op::conv2d, attributes, {out[0], in[1]}, in[0]);
}

inline constexpr OpRecord conv2d_backward_data = {
    .op = Op::conv2d_backward_data,
    .kind = OpKind::backward,
    .check = check_conv2d_backward_data,
    .rounded = InputSet::only({1}),
    .cost = cost_of_data_gradient,
};

inline Status check_conv2d_backward_weight(const Attributes& attributes, Types in, Types out) {
  TROUPE_TRY(expect_count(in, std::get<Conv2dAttributes>(attributes).prologue ? 4 : 2));
  TROUPE_TRY(expect_outputs(out, 1));
  std::vector<TensorType> forward = {in[1], out[0]};
  forward.insert(forward.end(), in.begin() + 2, in.end());
  return expect_inverse(Op::conv2d, attributes, forward, in[0]);
}

inline constexpr OpRecord conv2d_backward_weight = {
    .op = Op::conv2d_backward_weight,
    .kind = OpKind::backward,
    .check = check_conv2d_backward_weight,
    .cost = cost_of_weight_gradient,
};

} // namespace troupe::nn::ops
