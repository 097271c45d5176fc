/// Losses over f32 logits (rows, classes) and i32 labels (rows; negative: ignored), as
/// core/graph/ops.def defines them. A label that is not a class makes the loss NaN; nothing is read
/// out of bounds. Sums are bitwise repeatable.
#pragma once

#include "core/graph/op.hpp"
#include "core/host_and_device.hpp"
#include "gpu/kernels/scratch.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace troupe::gpu {

struct CrossEntropy {
  const float* logits = nullptr;
  const std::int32_t* labels = nullptr;
  int rows = 0, classes = 0;
  LossAttributes attributes;
  float* loss = nullptr;          ///< scalar
  float* probabilities = nullptr; ///< (rows, classes); may be null
  /// (rows, classes), computed in the same kernel as the loss; may be null.
  float* dlogits = nullptr;
  const float* loss_scale = nullptr; ///< scalar that multiplies dlogits; may be null
  /// Scalar: rows whose first largest logit is the label's; may be null.
  float* correct = nullptr;
  float* counted = nullptr; ///< scalar: labels that are not ignored; may be null
};
/// `loss` is 0 if all labels are ignored.
void launch_softmax_cross_entropy(cudaStream_t stream, const CrossEntropy& arguments,
                                  const ReductionScratch& scratch);
/// Computes dlogits from the saved probabilities.
void launch_softmax_cross_entropy_backward(cudaStream_t stream, const float* probabilities,
                                           const std::int32_t* labels, int rows, int classes,
                                           const LossAttributes& attributes,
                                           const float* loss_scale, float* dlogits);
/// *correct = rows whose first largest logit is the label's.
void launch_count_correct(cudaStream_t stream, const float* logits, const std::int32_t* labels,
                          int rows, int classes, float* correct);

/// Mean squared error. The target is `values` (rows, columns; a row that begins with a NaN is
/// ignored) or one-hot rows of `labels`.
struct SquaredError {
  const float* prediction = nullptr;
  const float* values = nullptr;
  const std::int32_t* labels = nullptr; ///< used if `values` is null
  int rows = 0, columns = 0;
  LossAttributes attributes;
};
/// `counted`: scalar, the rows that are not ignored; may be null.
void launch_mean_squared_error(cudaStream_t stream, const SquaredError& arguments, float* loss,
                               float* counted);
void launch_mean_squared_error_backward(cudaStream_t stream, const SquaredError& arguments,
                                        const float* loss_scale, float* dprediction);

// The arithmetic of the losses, for host and CUDA code.

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
