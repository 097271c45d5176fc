/// Quantizes values in blocks with one scale each; core/device/quantized.hpp defines encoding and
/// arithmetic. All addresses are device memory, aligned to four bytes.
#pragma once

#include "core/device/quantized.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace troupe::gpu {

/// Writes quantized_bytes(type, elements) bytes.
void launch_quantize(cudaStream_t stream, const float* source, void* destination,
                     QuantizedType type, std::size_t elements);
void launch_dequantize(cudaStream_t stream, const void* source, QuantizedType type,
                       float* destination, std::size_t elements);

} // namespace troupe::gpu
