/// Measuring what libraries propose, on the device itself.
#pragma once

#include "core/error.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <span>

namespace troupe::gpu {

/// Keeps the device busy for 50 ms: one that was idle runs at a fraction of its clock, and the
/// first candidate would look slow. Overwrites the memory. Waits for the stream.
Status wake_up(cudaStream_t stream, std::byte* memory, std::size_t bytes);

/// Microseconds of a run, which `enqueue` enqueues on the stream: the least of five stretches of up
/// to ten runs, which last a few milliseconds. Other work on the machine can only make a
/// stretch longer. Waits for the stream. A refused candidate leaves no error on the thread.
Result<double> least_microseconds(cudaStream_t stream, const std::function<Status()>& enqueue);

/// Which of the candidates that ran took least. Errors: device, when none did.
Result<std::size_t> fastest(std::span<const Result<double>> times);

} // namespace troupe::gpu
