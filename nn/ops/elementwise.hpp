/// Elementwise ops.
#pragma once

#include "nn/ops/detail/shape_checks.hpp"

namespace troupe::nn::ops {

/// Returns the common type of `count` inputs.
template <std::size_t count>
OutputTypes infer_elementwise(const Attributes&, Types inputs) {
  TROUPE_TRY(expect_count(inputs, count));
  TROUPE_TRY(expect_floating(inputs[0], "x"));
  for (const auto& input : inputs.subspan(1))
    TROUPE_TRY(expect_type(input, inputs[0], "b"));
  return std::vector{inputs[0]};
}

/// dy, and an input or output of forward -> dx: all of one type.
inline Status check_elementwise_backward(const Attributes&, Types in, Types out) {
  TROUPE_TRY(expect_counts(in, 2, out, 1));
  TROUPE_TRY(expect_type(in[1], in[0], "the tensor that forward saved"));
  return expect_type(out[0], in[0], "dx");
}

inline constexpr OpRecord relu = {
    .op = Op::relu,
    .infer = infer_elementwise<1>,
    .autocast = Autocast{AutocastRule::follow, "relu"},
    .gradient = propagate_with_output<Op::relu_backward, 0>,
    .clone = same_node,
    .in_place = 1,
};

inline constexpr OpRecord relu_backward = {
    .op = Op::relu_backward,
    .kind = OpKind::backward,
    .check = check_elementwise_backward,
    .in_place = 1,
};

inline constexpr OpRecord gelu = {
    .op = Op::gelu,
    .infer = infer_elementwise<1>,
    .autocast = Autocast{AutocastRule::follow, "gelu"},
    .gradient = propagate_with_input<Op::gelu_backward, 0>,
    .clone = same_node,
    .in_place = 1,
};

inline constexpr OpRecord gelu_backward = {
    .op = Op::gelu_backward,
    .kind = OpKind::backward,
    .check = check_elementwise_backward,
    .in_place = 1,
};

inline Status differentiate_swiglu(Propagation& to, const Node& node, TensorId dy) {
  to.propagate_all(Op::swiglu_backward, node, {0, 1}, {dy, node.inputs[0], node.inputs[1]});
  return {};
}

// Shazeer, "GLU Variants Improve Transformer", 2020.
inline constexpr OpRecord swiglu = {
    .op = Op::swiglu,
    .infer = infer_elementwise<2>,
    .autocast = Autocast{AutocastRule::widest},
    .gradient = differentiate_swiglu,
    .clone = same_node,
    .in_place = 2,
};

inline Status check_swiglu_backward(const Attributes&, Types in, Types out) {
  TROUPE_TRY(expect_counts(in, 3, out, 2));
  for (const auto& type : {in[1], in[2], out[0], out[1]})
    TROUPE_TRY(expect_type(type, in[0], "each other tensor"));
  return {};
}

inline constexpr OpRecord swiglu_backward = {
    .op = Op::swiglu_backward,
    .kind = OpKind::backward,
    .check = check_swiglu_backward,
};

inline Status differentiate_add(Propagation& to, const Node& node, TensorId dy) {
  TROUPE_TRY(to.pass_on(node, 0, dy));
  return to.pass_on(node, 1, dy);
}

inline constexpr OpRecord add = {
    .op = Op::add,
    .infer = infer_elementwise<2>,
    // PyTorch has it on no list, but promotes the narrower input, which is the same. Its in-place
    // `y += x` cannot promote and keeps y's type.
    .autocast = Autocast{AutocastRule::widest, "add"},
    .gradient = differentiate_add,
    .clone = same_node,
    .in_place = 2,
};

inline Status check_cast(const Attributes&, Types in, Types out) {
  if (in.size() != 1 || out.size() != 1 || in[0].shape != out[0].shape)
    return wrong("x and y must have the same shape");
  return {};
}

inline constexpr OpRecord cast = {
    .op = Op::cast,
    .check = check_cast,
    .autocast = Autocast{AutocastRule::given, "to"},
    .converts = true,
    .gradient = propagate_dy<Op::cast>,
    .clone = same_node,
};

} // namespace troupe::nn::ops
