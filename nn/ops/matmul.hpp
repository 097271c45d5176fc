/// Matrix products and biases.
#pragma once

#include "nn/ops/detail/products.hpp"

namespace troupe::nn::ops {

inline bool has_gelu(const Attributes& attributes) {
  const auto* const matmul = std::get_if<MatmulAttributes>(&attributes);
  return matmul && matmul->gelu;
}

inline bool is_wide(const Attributes& attributes) {
  const auto* const matmul = std::get_if<MatmulAttributes>(&attributes);
  return matmul && matmul->wide;
}

inline OutputTypes infer_matmul(const Attributes& attributes, Types inputs) {
  TROUPE_TRY(expect_count(inputs, 2, 3));
  const auto& x = inputs[0];
  const auto& w = inputs[1];
  TROUPE_TRY(expect_rank(x, 2, "x (N, in)"));
  TROUPE_TRY(expect_rank(w, 2, "weight (out, in)"));
  TROUPE_TRY(expect_floating(x, "x"));
  TROUPE_TRY(expect_weight(w, x));
  if (x.shape[1] != w.shape[1])
    return wrong("x has {} features, the weight takes {}", x.shape[1], w.shape[1]);
  if (inputs.size() == 3)
    TROUPE_TRY(expect_type(inputs[2], {{w.shape[0]}, DType::f32}, "bias"));
  const TensorType y{{x.shape[0], w.shape[0]}, is_wide(attributes) ? DType::f32 : x.dtype};
  if (!has_gelu(attributes))
    return std::vector{y};
  if (is_wide(attributes))
    return wrong("a wide product has no gelu");
  return std::vector{y, y};
}

inline Status differentiate_matmul(Propagation& to, const Node& node, TensorId dy) {
  if (node.inputs.size() == 3)
    to.propagate(Op::bias_backward, node, 2, {dy});
  to.propagate(Op::matmul_backward_weight, node, 1, {dy, node.inputs[0]});
  to.propagate(Op::matmul_backward_data, node, 0, {dy, node.inputs[1]});
  return {};
}

// With a bias, it is PyTorch's linear.
inline constexpr OpRecord matmul = {
    .op = Op::matmul,
    .infer = infer_matmul,
    .autocast = Autocast{AutocastRule::lower_precision, "linear"},
    .rounded = InputSet::only({1}),
    .gradient = differentiate_matmul,
    .clone = same_node,
    .cost = cost_of_forward,
};

inline Status check_matmul_backward_data(const Attributes& attributes, Types in, Types out) {
  const bool gelu = has_gelu(attributes);
  TROUPE_TRY(expect_counts(in, gelu ? 3 : 2, out, 1));
  if (gelu)
    TROUPE_TRY(expect_type(in[2], out[0], "gelu_input"));
  return check_inverse<Op::matmul, 1>(MatmulAttributes{.wide = is_wide(attributes)}, in.first(2),
                                      out);
}

inline constexpr OpRecord matmul_backward_data = {
    .op = Op::matmul_backward_data,
    .kind = OpKind::backward,
    .check = check_matmul_backward_data,
    .rounded = InputSet::only({1}),
    .cost = cost_of_data_gradient,
};

inline Status check_matmul_backward_weight(const Attributes& attributes, Types in, Types out) {
  const auto* const matmul = std::get_if<MatmulAttributes>(&attributes);
  const bool bias = matmul && matmul->bias_gradient;
  TROUPE_TRY(expect_counts(in, 2, out, bias ? 2 : 1));
  if (bias)
    TROUPE_TRY(expect_type(out[1], {{in[0].shape.dims.back()}, DType::f32}, "dbias"));
  return check_weight_gradient<Op::matmul>(MatmulAttributes{.wide = is_wide(attributes)}, in,
                                           out.first(1));
}

inline constexpr OpRecord matmul_backward_weight = {
    .op = Op::matmul_backward_weight,
    .kind = OpKind::backward,
    .check = check_matmul_backward_weight,
    .cost = cost_of_weight_gradient,
};

inline OutputTypes infer_bias(const Attributes&, Types inputs) {
  TROUPE_TRY(expect_count(inputs, 2));
  TROUPE_TRY(expect_rank(inputs[0], 2, "x (N, C)"));
  TROUPE_TRY(expect_floating(inputs[0], "x"));
  TROUPE_TRY(expect_type(inputs[1], {{inputs[0].shape[1]}, DType::f32}, "bias"));
  return std::vector{inputs[0]};
}

inline Status differentiate_bias(Propagation& to, const Node& node, TensorId dy) {
  to.propagate(Op::bias_backward, node, 1, {dy});
  return to.pass_on(node, 0, dy);
}

inline constexpr OpRecord bias = {
    .op = Op::bias,
    .infer = infer_bias,
    .autocast = Autocast{AutocastRule::lower_precision, "linear"},
    .gradient = differentiate_bias,
    .clone = same_node,
    .in_place = 1,
};

inline constexpr auto bias_backward =
    backward_op(Op::bias_backward, check_addend_gradient<Op::bias>);

} // namespace troupe::nn::ops
