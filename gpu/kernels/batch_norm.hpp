/// Batch norm over (rows, channels), rows = N·H·W, dtype f32, f16 or bf16; all per-channel values
/// are f32. Memory-bound: forward reads x twice and writes y; backward reads its inputs twice and
/// writes dx. Element-wise parts may run in place; sums are bitwise repeatable.
///
/// Any shape is supported, up to 16384 channels. Channels in multiples of 16 bytes and 16-byte
/// aligned tensors are fast. With a mask, channels must be a multiple of eight, and all tensors
/// aligned to eight elements.
#pragma once

#include "core/graph/tensor.hpp"
#include "gpu/kernels/scratch.hpp"
#include "gpu/kernels/update_gate.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace troupe::gpu {

struct BatchNormShape {
  DType dtype = DType::f16;
  std::int64_t rows = 0;
  std::int64_t channels = 0;
};

/// The outputs of the statistics kernels. Pointers except saved_mean and saved_inv_std may be null.
struct BatchNormStatistics {
  float *saved_mean = nullptr, *saved_inv_std = nullptr;
  float *running_mean = nullptr, *running_variance = nullptr; ///< updated; the variance is unbiased
  float eps = 1e-5f, momentum = 0.1f;
  /// For a kernel that computes y = x·equivalent_scale + equivalent_shift. In f32 and in `narrow`,
  /// f16 or bf16; each is written if not null.
  const float *scale = nullptr, *shift = nullptr;
  float *equivalent_scale = nullptr, *equivalent_shift = nullptr;
  DType narrow = DType::f16;
  void *narrow_scale = nullptr, *narrow_shift = nullptr;
  float *scale_copy = nullptr, *shift_copy = nullptr; ///< written if not null
};

/// Computes mean and variance of x per channel.
void launch_batch_norm_statistics(cudaStream_t stream, const BatchNormShape& shape, const void* x,
                                  const BatchNormStatistics& statistics,
                                  const ReductionScratch& scratch);
/// As above, from sums over the rows that another kernel computed (a convolution's epilogue).
void launch_batch_norm_finalize(cudaStream_t stream, std::int64_t rows, std::int64_t channels,
                                const float* sum, const float* sum_of_squares,
                                const BatchNormStatistics& statistics);

struct BatchNormApply {
  const void* x = nullptr;
  const void* residual = nullptr; ///< may be null
  void* y = nullptr;
  const float *scale = nullptr, *shift = nullptr;
  const float* mean = nullptr;
  const float* inv_std = nullptr;  ///< null: computed from `variance` and `eps` (inference)
  const float* variance = nullptr; ///< biased, or the running variance
  float eps = 1e-5f;
  bool relu = false;
  std::uint8_t* mask = nullptr; ///< of y (core/graph/ops.def); may be null
};
/// y = (x - mean)·inv_std·scale + shift [+ residual] [relu].
void launch_batch_norm_apply(cudaStream_t stream, const BatchNormShape& shape,
                             const BatchNormApply& arguments);

struct BatchNormBackward {
  const void *dy = nullptr, *x = nullptr;
  const void* other = nullptr; ///< added to dy; may be null, requires dresidual
  bool relu = false;
  /// Source of relu's mask: y, or the stored mask. If both are null, the mask is recomputed from x
  /// and `shift`, which saves reading y twice; only correct without a residual.
  const void* y = nullptr;
  const std::uint8_t* mask = nullptr; ///< requires dresidual
  const float *scale = nullptr, *shift = nullptr;
  const float *mean = nullptr, *inv_std = nullptr;
  void* dx = nullptr;
  float *dscale = nullptr, *dshift = nullptr;
  void* dresidual = nullptr; ///< dy after relu's mask; may be null; may be dy, not dx
};
/// Two launches: the sums (and dresidual), then dx.
void launch_batch_norm_backward(cudaStream_t stream, const BatchNormShape& shape,
                                const BatchNormBackward& arguments,
                                const ReductionScratch& scratch);

/// y = x·scale + shift [+ z | + z·z_scale + z_shift] [relu]: the element-wise end of a batch norm
/// whose statistics are final. The residual z may be the input of a second such batch norm. x and z
/// may be y.
struct ScaleBias {
  const void* x = nullptr;
  const float *scale = nullptr, *shift = nullptr;
  const void* z = nullptr;                            ///< may be null
  const float *z_scale = nullptr, *z_shift = nullptr; ///< both or neither
  void* y = nullptr;
  bool relu = false;
  std::uint8_t* mask = nullptr; ///< of y; may be null
};
void launch_scale_bias(cudaStream_t stream, const BatchNormShape& shape,
                       const ScaleBias& arguments);

/// dx = a·dy + b·x + c per channel: the end of a batch norm's backward pass whose sums another
/// kernel computed. dx may be dy or x.
struct DbnApply {
  const void *dy = nullptr, *x = nullptr;
  const float *a = nullptr, *b = nullptr, *c = nullptr;
  void* dx = nullptr;
  /// Sums of the other kernel, copied if not null.
  const float *dscale = nullptr, *dshift = nullptr;
  float *dscale_copy = nullptr, *dshift_copy = nullptr;
};
void launch_dbn_apply(cudaStream_t stream, const BatchNormShape& shape, const DbnApply& arguments);

// Batch norm whose statistics cover all ranks' rows: the kernels above in two halves, with a sum
// over ranks in between. core/device/sum_over_ranks.hpp defines the layout of `sums` (2 * channels
// + 1 doubles).

/// Writes this rank's sums of x and x².
void launch_batch_norm_rank_sums(cudaStream_t stream, const BatchNormShape& shape, const void* x,
                                 double* sums, const ReductionScratch& scratch);
/// Writes the outputs of launch_batch_norm_statistics from all ranks' sums. Writes nothing if the
/// gate is closed: incomplete sums must not reach the running statistics.
void launch_batch_norm_finalize(cudaStream_t stream, std::int64_t channels, const double* sums,
                                const BatchNormStatistics& statistics, const UpdateGate& gate = {});

/// Writes this rank's dscale, dshift and dresidual, and its sums.
void launch_batch_norm_backward_sums(cudaStream_t stream, const BatchNormShape& shape,
                                     const BatchNormBackward& arguments, double* sums,
                                     const ReductionScratch& scratch);
/// Writes dx from all ranks' sums.
void launch_batch_norm_backward_input(cudaStream_t stream, const BatchNormShape& shape,
                                      const BatchNormBackward& arguments, const double* sums);

} // namespace troupe::gpu
