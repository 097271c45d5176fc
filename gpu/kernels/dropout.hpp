/// Dropout of samples of one size, dtype f32, f16 or bf16. core/device/dropout_math.hpp defines the
/// dropped elements and the form of the keys.
#pragma once

#include "core/device/dropout_math.hpp"

#include <cuda_runtime_api.h>

namespace troupe::gpu {

/// y may be x. Samples whose size is a multiple of 16 bytes, aligned to 16 bytes, are fast.
void launch_dropout(cudaStream_t stream, DType dtype, const DropoutRule& rule,
                    const std::int32_t* keys, std::size_t samples, std::size_t of_sample,
                    const void* x, void* y);

} // namespace troupe::gpu
