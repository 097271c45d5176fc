/// The runtime's error codes: a thread's last one, and those that a device never gets over.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

namespace emulation {

/// Keeps an error as the calling thread's last; gives it back.
cudaError_t remember(cudaError_t code);

/// As an error inside a kernel does: every later call that concerns the devices fails with it. Says
/// why on standard error.
void fail_forever(cudaError_t code, std::string_view why);
/// cudaSuccess, or what fail_forever() was told first.
cudaError_t standing_error();

} // namespace emulation

/// Inside functions of the runtime: passes an error on to the caller, and remembers it.
#define EMULATION_TRY(expression)                                                                  \
  do {                                                                                             \
    if (const cudaError_t code_ = (expression); code_ != cudaSuccess)                              \
      return ::emulation::remember(code_);                                                         \
  } while (false)
