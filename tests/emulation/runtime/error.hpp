/// The runtime's error codes: the last error of each thread, and the sticky error of a device.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

namespace emulation {

/// Stores an error as the calling thread's last error and returns it.
cudaError_t remember(cudaError_t code);

/// Makes every later device call fail with this error, as an error inside a kernel does. Prints the
/// reason to standard error.
void fail_forever(cudaError_t code, std::string_view why);
/// Returns the first error of fail_forever(), or cudaSuccess.
cudaError_t standing_error();

} // namespace emulation

/// In functions of the runtime: returns an error to the caller and remembers it.
#define EMULATION_TRY(expression)                                                                  \
  do {                                                                                             \
    if (const cudaError_t code_ = (expression); code_ != cudaSuccess)                              \
      return ::emulation::remember(code_);                                                         \
  } while (false)
