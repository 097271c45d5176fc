/// How a CUDA device wants a model's graph made, and compiled.
#pragma once

#include "../platform.hpp"

#include "troupe/gpu/cuda_device.hpp"

namespace troupe::engine {

/// The device must outlive them. Errors: unsupported where there is no cuDNN.
Result<EngineOptions> cuda_options(const Config& config, gpu::CudaDevice& device);

} // namespace troupe::engine
