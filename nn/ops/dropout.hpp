/// Dropout: zeroes random elements in training.
#pragma once

#include "core/device/dropout_math.hpp"
#include "nn/ops/detail/shape_checks.hpp"

namespace troupe::nn::ops {

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
