#include "tests/emulation/runtime/error.hpp"

#include <atomic>
#include <cstdio>
#include <utility>

namespace emulation {

namespace {

thread_local cudaError_t last_error = cudaSuccess;
std::atomic<cudaError_t> standing = cudaSuccess;

/// The errors that the emulation returns, with their names and texts.
struct Text {
  cudaError_t code;
  const char *name, *text;
};
#define EMULATION_TEXT(code, text)                                                                 \
  { code, #code, text }
constexpr Text texts[] = {
    EMULATION_TEXT(cudaSuccess, "no error"),
    EMULATION_TEXT(cudaErrorInvalidValue, "invalid argument"),
    EMULATION_TEXT(cudaErrorMemoryAllocation, "out of memory"),
    EMULATION_TEXT(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    EMULATION_TEXT(cudaErrorInvalidDevice, "invalid device ordinal"),
    EMULATION_TEXT(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    EMULATION_TEXT(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    EMULATION_TEXT(cudaErrorNotReady, "device not ready"),
    EMULATION_TEXT(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    EMULATION_TEXT(cudaErrorLaunchFailure, "unspecified launch failure"),
    EMULATION_TEXT(cudaErrorNotSupported, "operation not supported"),
    EMULATION_TEXT(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    EMULATION_TEXT(cudaErrorStreamCaptureUnsupported,
                   "operation not permitted when stream is capturing"),
    EMULATION_TEXT(cudaErrorStreamCaptureInvalidated,
                   "operation failed due to a previous error during capture"),
    EMULATION_TEXT(cudaErrorStreamCaptureMerge,
                   "operation would result in a merge of separate capture sequences"),
    EMULATION_TEXT(cudaErrorStreamCaptureUnmatched,
                   "capture was not ended in the same stream as it began"),
    EMULATION_TEXT(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    EMULATION_TEXT(cudaErrorStreamCaptureIsolation,
                   "dependency created on uncaptured work in another stream"),
    EMULATION_TEXT(cudaErrorCapturedEvent,
                   "operation not permitted on an event last recorded in a capturing stream"),
    EMULATION_TEXT(cudaErrorStreamCaptureWrongThread,
                   "attempt to terminate a thread-local capture sequence from another thread"),
};
#undef EMULATION_TEXT

const Text* find(cudaError_t code) {
  for (const auto& text : texts)
    if (text.code == code)
      return &text;
  return nullptr;
}

} // namespace

cudaError_t remember(cudaError_t code) {
  if (code != cudaSuccess)
    last_error = code;
  return code;
}

void fail_forever(cudaError_t code, std::string_view why) {
  auto none = cudaSuccess;
  if (standing.compare_exchange_strong(none, code))
    std::fprintf(stderr, "emulated CUDA device: %.*s\n", static_cast<int>(why.size()), why.data());
}

cudaError_t standing_error() {
  return standing;
}

} // namespace emulation

extern "C" {

cudaError_t cudaGetLastError() {
  const auto code = std::exchange(emulation::last_error, cudaSuccess);
  return code != cudaSuccess ? code : emulation::standing_error();
}

cudaError_t cudaPeekAtLastError() {
  return emulation::last_error != cudaSuccess ? emulation::last_error : emulation::standing_error();
}

const char* cudaGetErrorName(cudaError_t code) {
  const auto* const found = emulation::find(code);
  return found ? found->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t code) {
  const auto* const found = emulation::find(code);
  return found ? found->text : "unrecognized error code";
}
}
