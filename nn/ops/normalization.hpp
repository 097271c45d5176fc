/// Batch norm, its gradient, and its recomputation.
#pragma once

#include "nn/ops/detail/shape_checks.hpp"

namespace troupe::nn::ops {

inline OutputTypes infer_batch_norm(const Attributes& attributes, Types inputs) {
  const auto& a = std::get<BatchNormAttributes>(attributes);
  TROUPE_TRY(expect_count(inputs, a.add ? 6 : 5));
  const auto& x = inputs[0];
  TROUPE_TRY(expect_rows(x, "x"));
  TROUPE_TRY(expect_channels(inputs.subspan(1), x.shape.dims.back(), "scale", "shift",
                             "running_mean", "running_var"));
  if (a.add)
    TROUPE_TRY(expect_type(inputs[5], x, "residual"));
  if (!a.training)
    return std::vector{x};
  if (a.mask && (!a.relu || !a.add))
    return wrong("returns a mask only with relu and a residual");
  // A single value has no variance; PyTorch refuses it, too.
  if (x.shape.elements() / x.shape.dims.back() < 2)
    return wrong("training needs more than one value per channel, x is {}", x.shape.to_string());
  const TensorType channels{{x.shape.dims.back()}, DType::f32};
  std::vector outputs{x, channels, channels};
  if (a.mask) {
    TROUPE_TRY(outputs.emplace_back(), mask_of(x));
  }
  return outputs;
}

inline Status differentiate_batch_norm(Propagation& to, const Node& node, TensorId dy) {
  const auto& a = std::get<BatchNormAttributes>(node.attributes);
  if (!a.training)
    return fail(Errc::internal, "batch norm with running statistics has no backward");
  std::vector<TensorId> reads = {dy, node.inputs[0], node.inputs[1], node.outputs[1],
                                 node.outputs[2]};
  if (a.relu)
    reads.push_back(node.outputs[0]);
  std::vector<std::size_t> inputs = {0, 1, 2};
  if (a.add)
    inputs.push_back(5);
  to.propagate_all(Op::batch_norm_backward, node, inputs, std::move(reads));
  return {};
}

/// Normalizes again with the statistics that the node saved, so that running statistics are not
/// updated twice.
inline std::optional<Node> normalize_again(const Node& node) {
  if (!std::get<BatchNormAttributes>(node.attributes).training)
    return std::nullopt;
  auto again = node;
  again.op = Op::normalize;
  again.inputs[3] = node.outputs[1];
  again.inputs[4] = node.outputs[2];
  again.outputs.resize(1);
  return again;
}

inline constexpr OpRecord batch_norm = {
    .op = Op::batch_norm,
    .infer = infer_batch_norm,
    // Statistics, scale and shift are always f32, as in PyTorch.
    .autocast = Autocast{AutocastRule::follow, "batch_norm"},
    .gradient = differentiate_batch_norm,
    .flows_to = InputSet::all_but({3, 4}), // not the running statistics
    .clone = normalize_again,
};

/// dy and index have the shape of the pooled x.
inline Status check_pooled_batch_norm_backward(const BatchNormAttributes& a, Types in, Types out) {
  TROUPE_TRY(expect_counts(in, 8, out, 3));
  if (!a.relu || a.add || a.synchronized)
    return wrong("can be pooled only with relu");
  const auto& x = in[1];
  TROUPE_TRY(expect_inverse(Op::max_pool, *a.pooled, {x}, in[0]));
  TROUPE_TRY(expect_channels(in.subspan(2, 5), x.shape.dims.back(), "scale", "saved_mean",
                             "saved_inv_std", "factor", "offset"));
  TROUPE_TRY(expect_type(in[7], {in[0].shape, DType::i32}, "saved index"));
  TROUPE_TRY(expect_type(out[0], x, "dx"));
  return expect_channels(out.subspan(1), x.shape.dims.back(), "dscale", "dshift");
}

inline Status check_batch_norm_backward(const Attributes& attributes, Types in, Types out) {
  const auto& a = std::get<BatchNormAttributes>(attributes);
  if (a.pooled)
    return check_pooled_batch_norm_backward(a, in, out);
  const auto& x = in[1];
  if (a.add_gradient) {
    TROUPE_TRY(expect_count(in, a.relu ? 7 : 6));
    TROUPE_TRY(expect_type(in.back(), x, "the other part of the gradient"));
    in = in.first(in.size() - 1);
  }
  if ((a.add_gradient || a.mask) && !a.add)
    return wrong("takes a mask or another gradient only with a residual");
  const std::size_t least = a.relu ? 6 : 5, most = a.relu && !a.add ? 7 : least;
  TROUPE_TRY(expect_count(in, least, most));
  TROUPE_TRY(expect_outputs(out, a.add ? 4 : 3));
  const auto channels = x.shape.dims.back();
  TROUPE_TRY(expect_type(in[0], x, "dy"));
  TROUPE_TRY(expect_channels(in.subspan(2), channels, "scale", "saved_mean", "saved_inv_std"));
  if (in.size() == 6 && a.mask) {
    TROUPE_TRY(const auto mask, mask_of(x));
    TROUPE_TRY(expect_type(in[5], mask, "the mask"));
  } else if (in.size() == 6) {
    TROUPE_TRY(expect_type(in[5], x, "y"));
  }
  if (in.size() == 7)
    TROUPE_TRY(expect_channels(in.subspan(5), channels, "factor", "offset"));
  TROUPE_TRY(expect_type(out[0], x, "dx"));
  TROUPE_TRY(expect_channels(out.subspan(1), channels, "dscale", "dshift"));
  return a.add ? expect_type(out[3], x, "dresidual") : Status{};
}

inline constexpr auto batch_norm_backward =
    backward_op(Op::batch_norm_backward, check_batch_norm_backward);

inline Status check_normalize(const Attributes& attributes, Types in, Types out) {
  const auto& a = std::get<BatchNormAttributes>(attributes);
  TROUPE_TRY(expect_count(in, a.add ? 6 : 5));
  if (out.size() != 1 || in[0].shape.rank() < 2)
    return wrong("takes x (N, ..., C) and returns y");
  TROUPE_TRY(expect_floating(in[0], "x"));
  TROUPE_TRY(expect_channels(in.subspan(1), in[0].shape.dims.back(), "scale", "shift", "saved_mean",
                             "saved_inv_std"));
  if (a.add)
    TROUPE_TRY(expect_type(in[5], in[0], "the residual"));
  return expect_type(out[0], in[0], "y");
}

inline constexpr auto normalize = backward_op(Op::normalize, check_normalize);

} // namespace troupe::nn::ops
