/// Converts CUDA's error codes to Error.
#pragma once

#include "core/error.hpp"

#include <cuda_runtime_api.h>

#include <string_view>

namespace troupe::gpu {

/// For example "copy on CUDA device 0: an illegal memory access was encountered
/// (cudaErrorIllegalAddress)". Out of memory and a missing device or driver have their own codes;
/// everything else is Errc::device.
Error cuda_error(cudaError_t code, std::string_view operation, int device);

/// As cuda_error; success for cudaSuccess.
Status cuda_status(cudaError_t code, std::string_view operation, int device);

} // namespace troupe::gpu
