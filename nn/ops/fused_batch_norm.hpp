/// Batch norm in separate parts, which can be fused into the neighbouring convolutions
/// (passes/fuse_statistics). The pass runs after autodiff, so these ops have no gradients.
#pragma once

#include "nn/ops/detail/shape_checks.hpp"

namespace troupe::nn::ops {

inline OutputTypes infer_batch_norm_statistics(const Attributes& attributes, Types inputs) {
  const auto& a = std::get<FinalizeAttributes>(attributes);
  TROUPE_TRY(expect_count(inputs, 5));
  const auto& x = inputs[0];
  TROUPE_TRY(expect_rows(x, "x"));
  const auto channels = x.shape.dims.back();
  TROUPE_TRY(expect_channels(inputs.subspan(1), channels, "scale", "shift", "running_mean",
                             "running_var"));
  if (a.count < 2 || a.count * channels != x.shape.elements())
    return wrong("needs more than one value per channel, x is {}, count {}", x.shape.to_string(),
                 a.count);
  return std::vector(4, inputs[1]);
}

// No clone, because it updates running statistics.
inline constexpr OpRecord batch_norm_statistics = {
    .op = Op::batch_norm_statistics,
    .infer = infer_batch_norm_statistics,
    .autocast = Autocast{AutocastRule::given},
};

inline OutputTypes infer_batch_norm_finalize(const Attributes& attributes, Types inputs) {
  const auto& a = std::get<FinalizeAttributes>(attributes);
  TROUPE_TRY(expect_count(inputs, 6));
  TROUPE_TRY(expect_rank(inputs[0], 1, "sum (C)"));
  TROUPE_TRY(expect_channels(inputs, inputs[0].shape[0], "sum", "sum_of_squares", "scale", "shift",
                             "running_mean", "running_var"));
  if (a.count < 2)
    return wrong("needs more than one value per channel, has {}", a.count);
  if (a.also_f32 && a.type == DType::f32)
    return wrong("returns factor and offset in f32 twice");
  std::vector outputs(4, inputs[0]);
  outputs[2].dtype = outputs[3].dtype = a.type;
  outputs.resize(4 + (a.also_f32 ? 2 : 0) + (a.copies ? 2 : 0), inputs[0]);
  return outputs;
}

// No clone, because it updates running statistics.
inline constexpr OpRecord batch_norm_finalize = {
    .op = Op::batch_norm_finalize,
    .infer = infer_batch_norm_finalize,
    .autocast = Autocast{AutocastRule::given},
};

inline OutputTypes infer_scale_shift(const Attributes& attributes, Types inputs) {
  if (inputs.size() != 3 && inputs.size() != 4 && inputs.size() != 6)
    return wrong("takes 3, 4 or 6 inputs, has {}", inputs.size());
  const auto& x = inputs[0];
  TROUPE_TRY(expect_rows(x, "x"));
  const auto channels = x.shape.dims.back();
  TROUPE_TRY(expect_channels(inputs.subspan(1), channels, "factor", "offset"));
  if (inputs.size() > 3)
    TROUPE_TRY(expect_type(inputs[3], x, "residual"));
  if (inputs.size() > 4)
    TROUPE_TRY(expect_channels(inputs.subspan(4), channels, "the residual's factor",
                               "the residual's offset"));
  std::vector outputs{x};
  if (const auto& a = std::get<ScaleShiftAttributes>(attributes); a.mask) {
    if (!a.relu || inputs.size() < 4)
      return wrong("returns a mask only with relu and a residual");
    TROUPE_TRY(outputs.emplace_back(), mask_of(x));
  }
  return outputs;
}

inline constexpr OpRecord scale_shift = {
    .op = Op::scale_shift,
    .infer = infer_scale_shift,
    .autocast = Autocast{AutocastRule::given},
    .clone = same_node,
};

inline Status check_batch_norm_input_gradient(const Attributes&, Types in, Types out) {
  const bool passes_on = in.size() == 7;
  TROUPE_TRY(expect_counts(in, passes_on ? 7 : 5, out, passes_on ? 3 : 1));
  TROUPE_TRY(expect_rows(in[0], "dy"));
  TROUPE_TRY(expect_type(in[1], in[0], "x"));
  const auto channels = in[0].shape.dims.back();
  TROUPE_TRY(expect_channels(in.subspan(2), channels, "dy_factor", "x_factor", "offset"));
  if (passes_on) {
    TROUPE_TRY(expect_channels(in.subspan(5), channels, "dscale", "dshift"));
    TROUPE_TRY(expect_channels(out.subspan(1), channels, "dscale", "dshift"));
  }
  return expect_type(out[0], in[0], "dx");
}

inline constexpr auto batch_norm_input_gradient =
    backward_op(Op::batch_norm_input_gradient, check_batch_norm_input_gradient, 1);

} // namespace troupe::nn::ops
