/// Convolution ops.
#pragma once

#include "nn/ops/detail/products.hpp"

namespace troupe::nn::ops {

/// Returns the number of inputs besides x and weight.
inline std::size_t prologue_inputs(const Conv2dAttributes& a) {
  if (!a.prologue)
    return 0;
  return a.residual == Residual::none ? 2 : a.residual == Residual::plain ? 3 : 5;
}

inline Status check_prologue(const Conv2dAttributes& a, Types inputs) {
  const auto& x = inputs[0];
  const auto channels = x.shape[3];
  TROUPE_TRY(expect_channels_of(x.dtype, inputs.subspan(2), channels, "factor", "offset"));
  if (a.residual == Residual::none)
    return {};
  TROUPE_TRY(expect_type(inputs[4], x, "residual"));
  return a.residual == Residual::plain
             ? Status{}
             : expect_channels_of(x.dtype, inputs.subspan(5), channels, "the residual's factor",
                                  "the residual's offset");
}

inline Status check_epilogue(const Conv2dAttributes& a, Types inputs, const TensorType& y) {
  if (!a.bias)
    return a.add || a.relu ? wrong("has no bias, but add or relu") : Status{};
  if (a.prologue || a.statistics)
    return wrong("has a bias and a prologue, or statistics");
  TROUPE_TRY(expect_channels(inputs.subspan(2), y.shape[3], "bias"));
  return a.add ? expect_type(inputs[3], y, "residual") : Status{};
}

inline OutputTypes infer_conv2d(const Attributes& attributes, Types inputs) {
  const auto& a = std::get<Conv2dAttributes>(attributes);
  TROUPE_TRY(expect_count(inputs, 2 + prologue_inputs(a) + (a.bias ? 1 : 0) + (a.add ? 1 : 0)));
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
    TROUPE_TRY(check_prologue(a, inputs));
  const auto h = window_count(x.shape[1], a.kernel, a.stride, a.padding);
  const auto width = window_count(x.shape[2], a.kernel, a.stride, a.padding);
  if (h < 1 || width < 1)
    return wrong("an image of {} is too small for kernel {}, stride {}, padding {}",
                 x.shape.to_string(), a.kernel, a.stride, a.padding);
  const TensorType y{{x.shape[0], h, width, w.shape[0]}, x.dtype};
  TROUPE_TRY(check_epilogue(a, inputs, y));
  std::vector outputs{y};
  if (a.statistics)
    outputs.resize(3, {{w.shape[0]}, DType::f32});
  if (a.prologue && a.residual != Residual::none)
    outputs.push_back(x);
  return outputs;
}

inline Status differentiate_conv2d(Propagation& to, const Node& node, TensorId dy) {
  // The weight's gradient comes first: then x's memory is free for dx.
  to.propagate(Op::conv2d_backward_weight, node, 1, {dy, node.inputs[0]});
  to.propagate(Op::conv2d_backward_data, node, 0, {dy, node.inputs[1]});
  return {};
}

/// Returns nothing for the end of a block: the clone would read a tensor of another unit that has
/// no other reader.
inline std::optional<Node> convolve_again(const Node& node) {
  const bool ends_block = std::get<Conv2dAttributes>(node.attributes).residual != Residual::none;
  return ends_block ? std::nullopt : same_node(node);
}

/// Returns the residual of a 1x1 convolution, which the output may overwrite. Devices run these as
/// matrix products that accumulate into the output.
inline std::optional<std::size_t> residual_of(const Node& node) {
  const auto& a = std::get<Conv2dAttributes>(node.attributes);
  return a.add && a.kernel == 1 ? std::optional<std::size_t>{3} : std::nullopt;
}

inline constexpr OpRecord conv2d = {
    .op = Op::conv2d,
    .infer = infer_conv2d,
    .autocast = Autocast{AutocastRule::lower_precision, "conv2d"},
    .rounded = InputSet::only({1}),
    .gradient = differentiate_conv2d,
    .clone = convolve_again,
    .also_in_place = residual_of,
    .cost = cost_of_forward,
};

/// x, scale, shift, saved_mean, saved_inv_std.
inline Status expect_batch_norm(Types in, const TensorType& x) {
  TROUPE_TRY(expect_type(in[0], x, "x"));
  return expect_channels(in.subspan(1), x.shape[3], "scale", "shift", "saved_mean",
                         "saved_inv_std");
}

inline Status expect_sums(Types out, std::int64_t channels) {
  return expect_channels(out, channels, "dscale", "dshift", "dy_factor", "x_factor", "offset");
}

/// dy, weight, a batch norm [, residual or a second batch norm] [, other] -> dz, sums [, the
/// second's].
inline Status check_backward_data_batch_norm(const Attributes& attributes, Types in, Types out) {
  const auto& a = std::get<Conv2dAttributes>(attributes);
  const bool plain = a.residual == Residual::plain, two = a.residual == Residual::normalized;
  const std::size_t others = 7 + (plain ? 1 : two ? 5 : 0);
  TROUPE_TRY(expect_counts(in, others + (a.add_gradient ? 1 : 0), out, two ? 11 : 6));
  TROUPE_TRY(expect_inverse(Op::conv2d, attributes, {out[0], in[1]}, in[0]));
  TROUPE_TRY(expect_batch_norm(in.subspan(2), out[0]));
  TROUPE_TRY(expect_sums(out.subspan(1), out[0].shape[3]));
  if (plain)
    TROUPE_TRY(expect_type(in[7], out[0], "residual"));
  if (two) {
    TROUPE_TRY(expect_batch_norm(in.subspan(7), out[0]));
    TROUPE_TRY(expect_sums(out.subspan(6), out[0].shape[3]));
  }
  return a.add_gradient ? expect_type(in[others], out[0], "the other gradient") : Status{};
}

inline Status check_conv2d_backward_data(const Attributes& attributes, Types in, Types out) {
  if (std::get<Conv2dAttributes>(attributes).batch_norm_relu)
    return check_backward_data_batch_norm(attributes, in, out);
  return check_inverse<Op::conv2d, 1>(attributes, in, out);
}

inline constexpr OpRecord conv2d_backward_data = {
    .op = Op::conv2d_backward_data,
    .kind = OpKind::backward,
    .check = check_conv2d_backward_data,
    .rounded = InputSet::only({1}),
    .cost = cost_of_data_gradient,
};

inline Status check_conv2d_backward_weight(const Attributes& attributes, Types in, Types out) {
  TROUPE_TRY(expect_counts(in, std::get<Conv2dAttributes>(attributes).prologue ? 4 : 2, out, 1));
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
