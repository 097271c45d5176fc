/// Checks that the shape rules of several families share.
#pragma once

#include "core/fail.hpp"
#include "nn/ops/record.hpp"

namespace troupe::nn::ops {

template <class... Args>
auto wrong(fmt::format_string<Args...> format, Args&&... args) {
  return fail(Errc::invalid_input, format, std::forward<Args>(args)...);
}

inline Status expect_count(Types inputs, std::size_t least, std::size_t most) {
  if (inputs.size() < least || inputs.size() > most)
    return wrong("takes {} to {} inputs, has {}", least, most, inputs.size());
  return {};
}

inline Status expect_count(Types inputs, std::size_t count) {
  return expect_count(inputs, count, count);
}

inline Status expect_outputs(Types outputs, std::size_t count) {
  if (outputs.size() != count)
    return wrong("returns {} output{}, has {}", count, count == 1 ? "" : "s", outputs.size());
  return {};
}

inline Status expect_counts(Types inputs, std::size_t input_count, Types outputs,
                            std::size_t output_count) {
  TROUPE_TRY(expect_count(inputs, input_count));
  return expect_outputs(outputs, output_count);
}

inline Status expect_rank(const TensorType& type, std::size_t rank, const char* what) {
  if (type.shape.rank() != rank)
    return wrong("{} must have {} dimensions, is {}", what, rank, type.shape.to_string());
  return {};
}

inline Status expect_type(const TensorType& type, const TensorType& expected, const char* what) {
  if (type != expected)
    return wrong("{} must be {} {}, is {} {}", what, to_string(expected.dtype),
                 expected.shape.to_string(), to_string(type.dtype), type.shape.to_string());
  return {};
}

inline Status expect_floating(const TensorType& type, const char* what) {
  if (type.dtype != DType::f32 && type.dtype != DType::bf16 && type.dtype != DType::f16)
    return wrong("{} must be f32, bf16 or f16, is {}", what, to_string(type.dtype));
  return {};
}

/// Checks rows of at least one channel each.
inline Status expect_rows(const TensorType& type, const char* what) {
  TROUPE_TRY(expect_floating(type, what));
  if (type.shape.rank() < 2 || type.shape.dims.back() < 1)
    return wrong("{} must be (N, ..., C), is {}", what, type.shape.to_string());
  return {};
}

/// Checks tensors with one value per channel.
template <class... Names>
Status expect_channels_of(DType dtype, Types inputs, std::int64_t channels, Names... names) {
  const TensorType expected{{channels}, dtype};
  Status status;
  std::size_t i = 0;
  for (const char* name : {names...})
    if (status)
      status = expect_type(inputs[i++], expected, name);
  return status;
}

/// Checks tensors with one f32 value per channel, whatever the type of the activations.
template <class... Names>
Status expect_channels(Types inputs, std::int64_t channels, Names... names) {
  return expect_channels_of(DType::f32, inputs, channels, names...);
}

/// Checks the tensor that contains the position of every sequence's first row.
inline Status expect_first(const TensorType& first) {
  return expect_type(first, {{1}, DType::i32}, "first");
}

/// Refuses to differentiate a node with a `first` input: only whole sequences have gradients.
inline Status refuse_first(const Node& node, std::size_t inputs) {
  if (node.inputs.size() > inputs)
    return fail(Errc::internal, "{}: a later part of a sequence has no gradient",
                to_string(node.op));
  return {};
}

/// Returns the type of a mask of y.
inline Result<TensorType> mask_of(TensorType y) {
  constexpr std::int64_t bits = 8;
  auto& channels = y.shape.dims.back();
  if (channels % bits != 0)
    return wrong("has a mask only if the channels are a multiple of 8, is {}", y.shape.to_string());
  channels /= bits;
  y.dtype = DType::u8;
  return y;
}

/// Returns how many windows fit; 0 if none does.
inline std::int64_t window_count(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                                 std::int64_t padding) {
  const auto room = size + 2 * padding - kernel;
  return room < 0 || stride < 1 ? 0 : room / stride + 1;
}

/// Checks a backward op: the forward op, applied to the types of its result, must return the type
/// of dy.
inline Status expect_inverse(Op forward, const Attributes& attributes,
                             const std::vector<TensorType>& forward_inputs, const TensorType& dy) {
  TROUPE_TRY(const auto outputs, infer_outputs(forward, attributes, forward_inputs));
  return expect_type(dy, outputs.front(), "dy");
}

/// Checks an op that computes dx from dy and the `others`: the forward op's inputs after the first.
template <Op forward, std::size_t others = 0>
Status check_inverse(const Attributes& attributes, Types in, Types out) {
  TROUPE_TRY(expect_counts(in, 1 + others, out, 1));
  std::vector<TensorType> inputs{in.begin(), in.end()};
  inputs[0] = out[0];
  return expect_inverse(forward, attributes, inputs, in[0]);
}

/// Checks an op that computes the gradient of a sum's second operand, from dy only.
template <Op forward>
Status check_addend_gradient(const Attributes& attributes, Types in, Types out) {
  TROUPE_TRY(expect_counts(in, 1, out, 1));
  return expect_inverse(forward, attributes, {in[0], out[0]}, in[0]);
}

/// Checks an op that computes the gradient of a weight, the second input, from dy and the first.
template <Op forward>
Status check_weight_gradient(const Attributes& attributes, Types in, Types out) {
  TROUPE_TRY(expect_counts(in, 2, out, 1));
  return expect_inverse(forward, attributes, {in[1], out[0]}, in[0]);
}

} // namespace troupe::nn::ops
