/// Batch norm whose statistics are of all ranks' rows: the kernels of batch_norm.hpp in two halves,
/// with a sum over ranks in between. `sums` (2 * channels + 1 doubles) are laid out as
/// core/device/sum_over_ranks.hpp says.
#pragma once

#include "gpu/kernels/batch_norm.hpp"
#include "gpu/kernels/update_gate.hpp"

namespace troupe::gpu {

/// This rank's sums of x and x².
void launch_batch_norm_rank_sums(cudaStream_t stream, const BatchNormShape& shape, const void* x,
                                 double* sums, const ReductionScratch& scratch);
/// What launch_batch_norm_statistics writes, from all ranks' sums; behind a closed gate nothing:
/// sums that did not come must not get into the running statistics.
void launch_batch_norm_finalize(cudaStream_t stream, std::int64_t channels, const double* sums,
                                const BatchNormStatistics& statistics, const UpdateGate& gate = {});

/// This rank's dscale, dshift and dresidual, and its sums.
void launch_batch_norm_backward_sums(cudaStream_t stream, const BatchNormShape& shape,
                                     const BatchNormBackward& arguments, double* sums,
                                     const ReductionScratch& scratch);
/// dx, from all ranks' sums.
void launch_batch_norm_backward_input(cudaStream_t stream, const BatchNormShape& shape,
                                      const BatchNormBackward& arguments, const double* sums);

} // namespace troupe::gpu
