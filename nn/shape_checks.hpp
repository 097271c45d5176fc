/// What the shape rules of forward and backward ops share.
#pragma once

#include "shape_rules.hpp"
#include "troupe/core/fail.hpp"

namespace troupe::nn {

using Types = std::span<const TensorType>;

template <class... Args>
auto wrong(Op op, fmt::format_string<Args...> format, Args&&... args) {
  return fail(Errc::invalid_input, "{}: {}", to_string(op),
              fmt::format(format, std::forward<Args>(args)...));
}

inline Status expect_count(Op op, Types inputs, std::size_t least, std::size_t most) {
  if (inputs.size() < least || inputs.size() > most)
    return wrong(op, "takes {} to {} inputs, has {}", least, most, inputs.size());
  return {};
}

inline Status expect_rank(Op op, const TensorType& type, std::size_t rank, const char* what) {
  if (type.shape.rank() != rank)
    return wrong(op, "{} must have {} dimensions, is {}", what, rank, type.shape.to_string());
  return {};
}

inline Status expect_type(Op op, const TensorType& type, const TensorType& expected,
                          const char* what) {
  if (type != expected)
    return wrong(op, "{} must be {} {}, is {} {}", what, to_string(expected.dtype),
                 expected.shape.to_string(), to_string(type.dtype), type.shape.to_string());
  return {};
}

inline Status expect_floating(Op op, const TensorType& type, const char* what) {
  if (type.dtype != DType::f32 && type.dtype != DType::bf16 && type.dtype != DType::f16)
    return wrong(op, "{} must be f32, bf16 or f16, is {}", what, to_string(type.dtype));
  return {};
}

/// Values by channel, which are f32 whatever the activations are.
template <class... Names>
Status expect_channels(Op op, Types inputs, std::int64_t channels, Names... names) {
  const TensorType expected{{channels}, DType::f32};
  Status status;
  std::size_t i = 0;
  for (const char* name : {names...})
    if (status)
      status = expect_type(op, inputs[i++], expected, name);
  return status;
}

/// check_node for the ops that autodiff and later passes make; in shape_rules_backward.cpp.
Status check_backward(const Node& node, Types in, Types out);

} // namespace troupe::nn
