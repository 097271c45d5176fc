/// The arithmetic of the losses, for host and CUDA code.
#pragma once

#include "core/host_and_device.hpp"

#include <cstdint>

namespace troupe::gpu {

/// Returns the target probability of class c (label smoothing: Szegedy et al. 2016, section 7).
TROUPE_HOST_DEVICE inline float smoothed_target(std::int32_t label, int c, int classes,
                                                float smoothing) {
  return (c == label ? 1 - smoothing : 0) + smoothing / static_cast<float>(classes);
}

/// Returns one row's cross entropy: the sum over classes of target·(log_sum_exp - logit). Targets
/// sum to 1.
TROUPE_HOST_DEVICE inline float row_cross_entropy(float log_sum_exp, float label_logit,
                                                  float logit_sum, int classes, float smoothing) {
  const float others =
      smoothing > 0 ? smoothing * (log_sum_exp - logit_sum / static_cast<float>(classes)) : 0;
  return (1 - smoothing) * (log_sum_exp - label_logit) + others;
}

/// Returns the divisor of sums over rows (LossAttributes::rows).
TROUPE_HOST_DEVICE inline double mean_rows(double rows, int counted) {
  return rows > 0 ? rows : static_cast<double>(counted);
}

/// Returns the factor that turns differences into gradients; 0 if no label counts.
TROUPE_HOST_DEVICE inline float gradient_factor(double rows, int counted, const float* loss_scale) {
  const float scale = loss_scale ? *loss_scale : 1.0f;
  return counted > 0 ? static_cast<float>(static_cast<double>(scale) / mean_rows(rows, counted))
                     : 0;
}

/// `scale` is the result of gradient_factor.
TROUPE_HOST_DEVICE inline float cross_entropy_gradient(float probability, std::int32_t label, int c,
                                                       int classes, float smoothing, float scale) {
  return label < 0 ? 0 : (probability - smoothed_target(label, c, classes, smoothing)) * scale;
}

/// prediction - target for a one-hot target; 0 if the row is ignored.
TROUPE_HOST_DEVICE inline float one_hot_difference(float prediction, std::int32_t label, int c) {
  return label < 0 ? 0 : prediction - (c == label ? 1.0f : 0.0f);
}

/// prediction - target; 0 if the row is ignored, which a NaN in `row_begin` marks.
TROUPE_HOST_DEVICE inline float value_difference(float prediction, float target, float row_begin) {
  return row_begin != row_begin ? 0 : prediction - target;
}

} // namespace troupe::gpu
