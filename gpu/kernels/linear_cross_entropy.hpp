/// What is between the products of a head and its loss: some rows of logits at a time. Semantics:
/// core/graph/ops.def, linear_cross_entropy. Sums are in a fixed order.
#pragma once

#include "core/graph/op.hpp"
#include "core/graph/tensor.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace troupe::gpu {

struct LogitRows {
  const float* logits = nullptr;        ///< (rows, classes)
  const std::int32_t* labels = nullptr; ///< (rows); negative: ignored
  int rows = 0, classes = 0;
  float smoothing = 0;
};

/// By row: the logarithm of the sum of its logits' exponentials, and its loss, which is 0 where it
/// is ignored and NaN where the label is no class.
void launch_row_losses(cudaStream_t stream, const LogitRows& rows, float* log_sum_exp,
                       float* losses);

/// Of all rows of a batch: how many are not ignored, and what comes of that.
struct LabelCount {
  const std::int32_t* labels = nullptr;
  int rows = 0;
  double mean_rows = 0; ///< LossAttributes::rows
};
/// The mean of the losses, 0 where all are ignored; how many are not. Scalars.
void launch_mean_loss(cudaStream_t stream, const LabelCount& count, const float* losses,
                      float* loss, float* counted);
/// What differences of probabilities are multiplied with to be gradients: a scalar. `loss_scale`
/// may be null.
void launch_gradient_factor(cudaStream_t stream, const LabelCount& count, const float* loss_scale,
                            float* factor);

/// dlogits (rows, classes) in f32, f16 or bf16, f32 perhaps where the logits are: probabilities
/// less targets, times the factor.
void launch_logit_gradients(cudaStream_t stream, const LogitRows& rows, const float* log_sum_exp,
                            const float* factor, DType dtype, void* dlogits);

} // namespace troupe::gpu
