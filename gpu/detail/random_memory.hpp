/// Fills the memory that candidates are measured on.
#pragma once

#include "gpu/cuda_device.hpp"

#include <cstddef>

namespace troupe::gpu {

/// Fills device memory with numbers distributed like activations: on zeros a device draws less
/// power and runs faster. They are f16; read as bf16 or f32, the same bits are small numbers.
/// Blocks.
Status fill_with_random_halves(CudaDevice& device, Stream& stream, std::byte* memory,
                               std::size_t bytes);

} // namespace troupe::gpu
