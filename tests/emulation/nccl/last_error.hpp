/// The reason why the last call, or a rank, of this process failed: the text of ncclGetLastError.
#pragma once

#include <atomic>
#include <nccl.h>

namespace emulation::nccl {

inline std::atomic<const char*> last_error = "";

inline ncclResult_t refuse(ncclResult_t code, const char* why) {
  last_error = why;
  return code;
}

} // namespace emulation::nccl
