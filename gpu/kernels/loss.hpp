/// Losses over f32 logits (rows, classes) and i32 labels (rows; negative: ignored), as
/// core/graph/ops.def defines them. A label that is not a class makes the loss NaN; nothing is read
/// out of bounds. Sums are bitwise repeatable.
#pragma once

#include "core/graph/op.hpp"
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

} // namespace troupe::gpu
