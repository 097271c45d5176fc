#include "tests/emulation/runtime/stream.hpp"

#include "tests/emulation/runtime/loading.hpp"
#include "tests/emulation/runtime/recording.hpp"
#include "tests/emulation/runtime/settings.hpp"

#include <array>
#include <atomic>

#include <cuda.h>

namespace emulation {

namespace {

CUstream_st* new_stream(int device) {
  static std::array<std::atomic<unsigned>, 8> made = {};
  return new CUstream_st{device, queue_of(device, made[static_cast<std::size_t>(device)]++)};
}

/// Returns the device's default stream, for work that names no stream.
CUstream_st* default_stream(int device) {
  static std::mutex mutex;
  static std::array<CUstream_st*, 8> streams = {};
  const std::lock_guard lock{mutex};
  auto& stream = streams[static_cast<std::size_t>(device)];
  if (!stream)
    stream = new_stream(device);
  return stream;
}

cudaError_t wait_for(CUstream_st& stream, const CUevent_st& event) {
  if (!event.record)
    return cudaSuccess;
  if (!stream.capture) {
    stream.queue.push([record = event.record] { record->wait(); });
    return cudaSuccess;
  }
  stream.capture->valid = false;
  return cudaErrorStreamCaptureIsolation;
}

cudaError_t wait_for_captured(CUstream_st& stream, const CUevent_st& event) {
  const auto capture = event.capture.lock();
  if (!capture) // the capture has ended: the event is now part of a graph
    return cudaErrorCapturedEvent;
  if (stream.capture && stream.capture != capture) {
    stream.capture->valid = capture->valid = false;
    return cudaErrorStreamCaptureMerge;
  }
  stream.capture = capture;
  stream.tips.insert(event.tips.begin(), event.tips.end());
  return cudaSuccess;
}

CUresult as_driver_error(cudaError_t code) {
  return code == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/// Emulates cuStreamWaitValue32 with CU_STREAM_WAIT_VALUE_GEQ: the queue stops meanwhile.
CUresult wait_value(CUstream stream, CUdeviceptr_v2 address, cuuint32_t value, unsigned flags) {
  auto* const word = reinterpret_cast<std::uint32_t*>(address); // NOLINT: an address of the host
  if (flags != CU_STREAM_WAIT_VALUE_GEQ)
    return CUDA_ERROR_INVALID_VALUE;
  const auto* const of = stream_of(stream);
  if (!of)
    return CUDA_ERROR_INVALID_HANDLE;
  begin_host_wait(of->device, word, value);
  const auto code = enqueue(stream, [word, value, device = of->device] {
    while (!is_written(word, value))
      std::this_thread::sleep_for(std::chrono::microseconds{20});
    end_host_wait(device, word);
  });
  if (code != cudaSuccess)
    end_host_wait(of->device, word);
  return as_driver_error(code);
}

/// Emulates cuStreamWriteValue32 to host memory.
CUresult write_value(CUstream stream, CUdeviceptr_v2 address, cuuint32_t value, unsigned flags) {
  auto* const word = reinterpret_cast<std::uint32_t*>(address); // NOLINT: an address of the host
  if (flags != CU_STREAM_WRITE_VALUE_DEFAULT)
    return CUDA_ERROR_INVALID_VALUE;
  return as_driver_error(enqueue(stream, [word, value] { std::atomic_ref{*word}.store(value); }));
}

} // namespace

void Record::reach() {
  const std::lock_guard lock{mutex_};
  reached_ = true;
  time_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

void Record::wait() {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [this] { return reached_; });
}

CUstream_st* stream_of(cudaStream_t handle) {
  if (!handle)
    return default_stream(current_device());
  return Handles<CUstream_st>::instance().has(handle) ? handle : nullptr;
}

cudaError_t enqueue(cudaStream_t handle, Work work) {
  EMULATION_TRY(standing_error());
  auto* const stream = stream_of(handle);
  if (!stream)
    return cudaErrorInvalidResourceHandle;
  use_context();
  wait_for_loading(stream->device);
  const std::lock_guard lock{capture_mutex()};
  if (!stream->capture)
    stream->queue.push(std::move(work));
  else if (!stream->capture->valid)
    return cudaErrorStreamCaptureInvalidated;
  else
    stream->capture->add(std::move(work), stream->tips);
  return cudaSuccess;
}

cudaError_t enqueue_operation(cudaStream_t handle, Work work) {
  return is_recording() ? enqueue(handle, [] {}) : enqueue(handle, std::move(work));
}

} // namespace emulation

using namespace emulation;

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  EMULATION_TRY(standing_error());
  use_context();
  if (flags != cudaStreamNonBlocking) // other streams would synchronize with the default stream
    return remember(cudaErrorInvalidValue);
  *stream = Handles<CUstream_st>::instance().add(new_stream(current_device()));
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (!Handles<CUstream_st>::instance().remove(stream))
    return remember(cudaErrorInvalidResourceHandle);
  delete stream; // its queue still runs enqueued work
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  EMULATION_TRY(refuse_while_capturing());
  auto* const stream = stream_of(handle);
  if (!stream)
    return remember(cudaErrorInvalidResourceHandle);
  stream->queue.drain();
  return remember(standing_error());
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  auto* const stream = stream_of(handle);
  if (!stream || !Handles<CUevent_st>::instance().has(event))
    return remember(cudaErrorInvalidResourceHandle);
  const std::lock_guard lock{capture_mutex()};
  return remember(event->captured ? wait_for_captured(*stream, *event) : wait_for(*stream, *event));
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  const std::string_view name{symbol};
  *function = name == "cuStreamWaitValue32"    ? reinterpret_cast<void*>(wait_value)
              : name == "cuStreamWriteValue32" ? reinterpret_cast<void*>(write_value)
                                               : nullptr;
  if (found)
    *found = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* found) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, found);
}
}
