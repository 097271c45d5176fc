/// Elementwise ops, including dropout, which zeroes random elements in training.
#pragma once

#include "core/device/dropout_math.hpp"
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

inline constexpr auto relu_backward = backward_op(Op::relu_backward, check_elementwise_backward, 1);

inline constexpr OpRecord gelu = {
    .op = Op::gelu,
    .infer = infer_elementwise<1>,
    .autocast = Autocast{AutocastRule::follow, "gelu"},
    .gradient = propagate_with_input<Op::gelu_backward, 0>,
    .clone = same_node,
    .in_place = 1,
};

inline constexpr auto gelu_backward = backward_op(Op::gelu_backward, check_elementwise_backward, 1);

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

inline constexpr auto swiglu_backward = backward_op(Op::swiglu_backward, check_swiglu_backward);

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

inline OutputTypes infer_dropout(const Attributes& attributes, Types inputs) {
  const auto& a = std::get<DropoutAttributes>(attributes);
  TROUPE_TRY(expect_count(inputs, 2));
  const auto &x = inputs[0], &keys = inputs[1];
  TROUPE_TRY(expect_floating(x, "x"));
  TROUPE_TRY(expect_rank(keys, 2, "the keys (samples, 2)"));
  if (keys.dtype != DType::i32 || keys.shape[0] < 1 || keys.shape[1] != dropout_key_words)
    return wrong("the keys must be i32 (samples, {}), are {} {}", dropout_key_words,
                 to_string(keys.dtype), keys.shape.to_string());
  if (x.shape.rank() < 1 || x.shape[0] % keys.shape[0] != 0)
    return wrong("x {} does not have {} samples", x.shape.to_string(), keys.shape[0]);
  if (!(a.rate >= 0 && a.rate < 1) || a.place < 0)
    return wrong("the rate {} at place {} is invalid", a.rate, a.place);
  return std::vector{x};
}

inline constexpr OpRecord dropout = {
    .op = Op::dropout,
    .infer = infer_dropout,
    .autocast = Autocast{AutocastRule::follow, "dropout"},
    // Dropout is linear: the same op computes dx from dy.
    .gradient = propagate_with_input<Op::dropout, 1>,
    .flows_to = InputSet::only({0}),
    .clone = same_node,
    .in_place = 1,
};

} // namespace troupe::nn::ops
