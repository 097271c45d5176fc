#include "gpu/cuda_error.hpp"

#include <fmt/format.h>

namespace troupe::gpu {

namespace {

Errc code_of(cudaError_t code) {
  switch (code) {
  case cudaErrorMemoryAllocation:
    return Errc::out_of_memory;
  case cudaErrorNoDevice:
  case cudaErrorInsufficientDriver:
  case cudaErrorNoKernelImageForDevice:
  case cudaErrorNotSupported:
    return Errc::unsupported;
  default:
    return Errc::device;
  }
}

} // namespace

Error cuda_error(cudaError_t code, std::string_view operation, int device) {
  return {code_of(code), fmt::format("{} on CUDA device {}: {} ({})", operation, device,
                                     cudaGetErrorString(code), cudaGetErrorName(code))};
}

Status cuda_status(cudaError_t code, std::string_view operation, int device) {
  if (code == cudaSuccess)
    return {};
  return failure(cuda_error(code, operation, device));
}

} // namespace troupe::gpu
