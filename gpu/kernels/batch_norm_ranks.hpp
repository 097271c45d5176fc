/// Batch norm whose statistics cover all ranks' rows: the kernels of batch_norm.hpp in two halves,
/// with a sum over ranks in between. core/device/sum_over_ranks.hpp defines the layout of `sums` (2
/// * channels + 1 doubles).
#pragma once

#include "gpu/kernels/batch_norm.hpp"
#include "gpu/kernels/update_gate.hpp"

namespace troupe::gpu {

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
