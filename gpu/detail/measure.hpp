/// Measuring what libraries propose, on the device itself.
#pragma once

#include "troupe/core/error.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <span>

namespace troupe::gpu {

/// Microseconds of a run, which `enqueue` enqueues on the stream: the median of three stretches of
/// up to ten runs, which last a few milliseconds. Waits for the stream.
Result<double> median_microseconds(cudaStream_t stream, const std::function<Status()>& enqueue);

/// Which of the candidates that ran took least. Errors: device, when none did.
Result<std::size_t> fastest(std::span<const Result<double>> times);

} // namespace troupe::gpu
