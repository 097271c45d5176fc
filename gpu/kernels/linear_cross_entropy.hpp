/// The kernels of linear_cross_entropy between its matrix products: they handle the logits of a
/// chunk of rows. Semantics: core/graph/ops.def, linear_cross_entropy. Sums are in a fixed order.
#pragma once

#include "core/graph/op.hpp"
#include "core/graph/tensor.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace troupe::gpu {

struct LogitRows {
  void* logits = nullptr;               ///< (rows, classes)
  DType dtype = DType::f32;             ///< of the logits: f32, f16, bf16
  const std::int32_t* labels = nullptr; ///< (rows); negative: ignored
  int rows = 0, classes = 0;
  float smoothing = 0;
};

/// Writes for each row the logarithm of the sum of its logits' exponentials, and its loss. The loss
/// is 0 for an ignored row, and NaN if the label is not a class.
void launch_row_losses(cudaStream_t stream, const LogitRows& rows, float* log_sum_exp,
                       float* losses);

/// The labels of all rows of a batch; the kernels count those that are not ignored.
struct LabelCount {
  const std::int32_t* labels = nullptr;
  int rows = 0;
  double mean_rows = 0; ///< LossAttributes::rows
};
/// Writes the mean of the losses (0 if all rows are ignored) and the number of rows that are not
/// ignored. Both are scalars.
void launch_mean_loss(cudaStream_t stream, const LabelCount& count, const float* losses,
                      float* loss, float* counted);
/// Writes the scalar factor that turns differences of probabilities into gradients. `loss_scale`
/// may be null.
void launch_gradient_factor(cudaStream_t stream, const LabelCount& count, const float* loss_scale,
                            float* factor);

/// Overwrites the logits with their gradients: (probabilities - targets) * factor. `log_sum_exp` is
/// that of launch_row_losses. If it is null, the kernel computes it, and writes the losses of
/// launch_row_losses.
void launch_logit_gradients(cudaStream_t stream, const LogitRows& rows, const float* log_sum_exp,
                            const float* factor, float* losses);

} // namespace troupe::gpu
