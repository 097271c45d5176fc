/// Layer norm and RMS norm, which normalize each row, and their gradients.
#pragma once

#include "nn/ops/detail/shape_checks.hpp"

namespace troupe::nn::ops {

/// Returns the type of statistics with one value per row of x.
inline TensorType by_row(const TensorType& x) {
  return {{x.shape.elements() / x.shape.dims.back()}, DType::f32};
}

/// Checks a tensor that may have another floating-point type than x.
inline Status expect_same_shape(const TensorType& type, const TensorType& x, const char* what) {
  TROUPE_TRY(expect_floating(type, what));
  return expect_type(type, {x.shape, type.dtype}, what);
}

/// Checks a norm with `parameters` tensors, scale and perhaps shift. It saves as many statistics.
inline OutputTypes infer_row_norm(const NormFusion& fusion, Types inputs, std::size_t parameters) {
  TROUPE_TRY(expect_count(inputs, 1 + parameters + (fusion.add ? 1 : 0)));
  const auto& x = inputs[0];
  TROUPE_TRY(expect_rows(x, "x"));
  for (const auto& parameter : inputs.subspan(1, parameters))
    TROUPE_TRY(expect_channels({&parameter, 1}, x.shape.dims.back(), "a parameter"));
  std::vector outputs{TensorType{x.shape, fusion.type.value_or(x.dtype)}};
  TROUPE_TRY(expect_floating(outputs[0], "y"));
  outputs.insert(outputs.end(), parameters, by_row(x));
  if (fusion.add) {
    TROUPE_TRY(expect_same_shape(inputs.back(), x, "the addend"));
    outputs.push_back(x);
  }
  return outputs;
}

inline Status check_narrow_dx(const TensorType& narrow, const TensorType& x) {
  if (x.dtype != DType::f32 || narrow.dtype == DType::f32)
    return wrong("has a narrow dx, in f16 or bf16, only if x is f32");
  return expect_same_shape(narrow, x, "the narrow dx");
}

/// Checks the gradient of such a norm.
inline Status check_row_norm_backward(const NormFusion& fusion, Types in, Types out,
                                      std::size_t parameters) {
  TROUPE_TRY(expect_counts(in, 3 + parameters + (fusion.add_gradient ? 1 : 0), out,
                           1 + parameters + (fusion.narrow ? 1 : 0)));
  const auto& x = in[1];
  TROUPE_TRY(expect_rows(x, "x"));
  const auto channels = x.shape.dims.back();
  TROUPE_TRY(expect_floating(in[0], "dy"));
  TROUPE_TRY(expect_type(in[0], {x.shape, fusion.type.value_or(x.dtype)}, "dy"));
  TROUPE_TRY(expect_channels(in.subspan(2), channels, "scale"));
  for (const auto& saved : in.subspan(3, parameters))
    TROUPE_TRY(expect_type(saved, by_row(x), "a saved statistic"));
  if (fusion.add_gradient)
    TROUPE_TRY(expect_type(in.back(), x, "the other part of the gradient"));
  TROUPE_TRY(expect_type(out[0], x, "dx"));
  for (const auto& gradient : out.subspan(1, parameters))
    TROUPE_TRY(expect_channels({&gradient, 1}, channels, "the gradient of a parameter"));
  return fusion.narrow ? check_narrow_dx(out.back(), x) : Status{};
}

/// dx may overwrite the other part of the gradient.
template <class NormAttributes>
std::optional<std::size_t> other_gradient(const Node& node) {
  const bool added = std::get<NormAttributes>(node.attributes).fusion.add_gradient;
  return added ? std::optional{node.inputs.size() - 1} : std::nullopt;
}

inline OutputTypes infer_layer_norm(const Attributes& attributes, Types inputs) {
  return infer_row_norm(std::get<LayerNormAttributes>(attributes).fusion, inputs, 2);
}

inline Status differentiate_layer_norm(Propagation& to, const Node& node, TensorId dy) {
  to.propagate_all(Op::layer_norm_backward, node, {0, 1, 2},
                   {dy, node.inputs[0], node.inputs[1], node.outputs[1], node.outputs[2]});
  return {};
}

inline constexpr OpRecord layer_norm = {
    .op = Op::layer_norm,
    .infer = infer_layer_norm,
    // PyTorch's list for CUDA; on the CPU, PyTorch's layer_norm follows its input.
    .autocast = Autocast{AutocastRule::fp32, "layer_norm"},
    .gradient = differentiate_layer_norm,
    .clone = same_node,
};

inline Status check_layer_norm_backward(const Attributes& attributes, Types in, Types out) {
  return check_row_norm_backward(std::get<LayerNormAttributes>(attributes).fusion, in, out, 2);
}

inline constexpr OpRecord layer_norm_backward = {
    .op = Op::layer_norm_backward,
    .kind = OpKind::backward,
    .check = check_layer_norm_backward,
    .also_in_place = other_gradient<LayerNormAttributes>,
};

inline OutputTypes infer_rms_norm(const Attributes& attributes, Types inputs) {
  return infer_row_norm(std::get<RmsNormAttributes>(attributes).fusion, inputs, 1);
}

inline Status differentiate_rms_norm(Propagation& to, const Node& node, TensorId dy) {
  to.propagate_all(Op::rms_norm_backward, node, {0, 1},
                   {dy, node.inputs[0], node.inputs[1], node.outputs[1]});
  return {};
}

inline constexpr OpRecord rms_norm = {
    .op = Op::rms_norm,
    .infer = infer_rms_norm,
    // As for layer_norm.
    .autocast = Autocast{AutocastRule::fp32, "rms_norm"},
    .gradient = differentiate_rms_norm,
    .clone = same_node,
};

inline Status check_rms_norm_backward(const Attributes& attributes, Types in, Types out) {
  return check_row_norm_backward(std::get<RmsNormAttributes>(attributes).fusion, in, out, 1);
}

inline constexpr OpRecord rms_norm_backward = {
    .op = Op::rms_norm_backward,
    .kind = OpKind::backward,
    .check = check_rms_norm_backward,
    .also_in_place = other_gradient<RmsNormAttributes>,
};

} // namespace troupe::nn::ops
