#include "tests/emulation/runtime/loading.hpp"
#include "tests/emulation/runtime/recording.hpp"
#include "tests/emulation/runtime/stream.hpp"

using namespace emulation;

namespace {

bool alive(cudaEvent_t event) {
  return Handles<CUevent_st>::instance().has(event);
}

std::shared_ptr<Record> last_record(cudaEvent_t event) {
  const std::lock_guard lock{capture_mutex()};
  return event->record;
}

/// Checks that an event may be queried: not when it was last recorded in a capture.
cudaError_t check(cudaEvent_t event) {
  EMULATION_TRY(refuse_while_capturing());
  EMULATION_TRY(standing_error());
  if (!alive(event))
    return remember(cudaErrorInvalidResourceHandle);
  use_context();
  wait_for_loading(event->device);
  const std::lock_guard lock{capture_mutex()};
  return event->captured ? cudaErrorCapturedEvent : cudaSuccess;
}

} // namespace

extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  EMULATION_TRY(standing_error());
  use_context();
  *event = Handles<CUevent_st>::instance().add(
      new CUevent_st{current_device(), (flags & cudaEventDisableTiming) == 0});
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (!Handles<CUevent_st>::instance().remove(event))
    return remember(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  EMULATION_TRY(standing_error());
  auto* const stream = stream_of(handle);
  if (!stream || !alive(event) || stream->device != event->device)
    return remember(cudaErrorInvalidResourceHandle);
  wait_for_loading(stream->device);
  const std::lock_guard lock{capture_mutex()};
  if (stream->capture && !stream->capture->valid)
    return remember(cudaErrorStreamCaptureInvalidated);
  event->captured = stream->capture != nullptr;
  event->capture = stream->capture;
  event->tips = stream->tips;
  if (event->captured)
    return cudaSuccess;
  event->record = std::make_shared<Record>();
  stream->queue.push([record = event->record] { record->reach(); });
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  EMULATION_TRY(check(event));
  const auto record = last_record(event);
  return remember(!record || record->reached() ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  EMULATION_TRY(check(event));
  if (const auto record = last_record(event))
    record->wait();
  return remember(standing_error());
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  EMULATION_TRY(check(begin));
  EMULATION_TRY(check(end));
  const auto first = last_record(begin), second = last_record(end);
  if (!begin->timed || !end->timed || begin->device != end->device || !first || !second)
    return remember(cudaErrorInvalidResourceHandle);
  if (!first->reached() || !second->reached())
    return remember(cudaErrorNotReady);
  const std::chrono::duration<float, std::milli> time = second->time() - first->time();
  *milliseconds = is_recording() ? 0 : time.count();
  return cudaSuccess;
}
}
