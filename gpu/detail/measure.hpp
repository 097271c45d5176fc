/// Measures candidates of libraries on the device.
#pragma once

#include "gpu/cuda_device.hpp"

#include <cstddef>
#include <functional>
#include <span>

namespace troupe::gpu {

/// Keeps the device busy for 50 ms. An idle device runs at a fraction of its clock, so the first
/// candidate would look slow. Overwrites the memory. Waits for the stream.
Status wake_up(cudaStream_t stream, std::byte* memory, std::size_t bytes);

/// Fills device memory with numbers distributed like activations: on zeros a device draws less
/// power and runs faster. They are f16; read as bf16 or f32, the same bits are small numbers.
/// Blocks.
Status fill_with_random_halves(CudaDevice& device, Stream& stream, std::byte* memory,
                               std::size_t bytes);

/// Returns the microseconds of one run, which `enqueue` enqueues on the stream: the minimum over
/// five stretches of up to ten runs, each a few milliseconds long. Other work on the machine can
/// only lengthen a stretch. Waits for the stream. A rejected candidate leaves no error on the
/// thread.
Result<double> least_microseconds(cudaStream_t stream, const std::function<Status()>& enqueue);

/// Returns the index of the fastest candidate that ran. Errors: device, if none ran.
Result<std::size_t> fastest(std::span<const Result<double>> times);

} // namespace troupe::gpu
