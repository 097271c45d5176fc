#include "cuda_stream.hpp"

#include "troupe/core/fail.hpp"

#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <mutex>
#include <utility>

namespace troupe::gpu {

/// What the poller's entries need of a stream that may be gone when they are done.
struct CudaStream::State {
  mutable std::mutex mutex;
  Status status;
  std::atomic<bool> ending = false;

  void note(Status outcome) {
    const std::lock_guard lock{mutex};
    if (status && !outcome)
      status = std::move(outcome);
  }
  Status current() const {
    const std::lock_guard lock{mutex};
    return status;
  }
};

CudaStream::CudaStream(std::shared_ptr<DeviceContext> context, const StreamOptions& options)
    : context_{std::move(context)}, state_{std::make_shared<State>()},
      lane_{context_->poller().new_lane()} {
  const DeviceGuard guard{device()};
  int lowest = 0, highest = 0;
  cudaDeviceGetStreamPriorityRange(&lowest, &highest);
  note(cuda_status(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                                options.urgent ? highest : lowest),
                   "creating a stream", device()));
  auto memory = context_->memory().allocate(ReductionScratch::bytes, MemoryKind::workspace);
  if (!memory) {
    note(failure(std::move(memory).error()));
    return;
  }
  scratch_memory_ = std::move(*memory);
  scratch_ = ReductionScratch::in(scratch_memory_->data());
}

CudaStream::~CudaStream() {
  const DeviceGuard guard{device()};
  state_->ending = true; // the poller raises the flags that this stream waits for
  if (stream_ && !context_->poller().on_thread())
    note(cuda_status(cudaStreamSynchronize(stream_), "ending a stream", device()));
  context_->poller().drain(lane_);
  if (stream_)
    cudaStreamDestroy(stream_); // lets work that is still enqueued run to its end
}

Status CudaStream::status() const {
  return state_->current();
}

void CudaStream::note(Status status) {
  state_->note(std::move(status));
}

void CudaStream::begin_range(const std::string& name) {
  nvtxRangePushA(name.c_str());
}

void CudaStream::end_range() {
  nvtxRangePop();
}

bool CudaStream::capturing() const {
  auto capture = cudaStreamCaptureStatusNone;
  return stream_ && cudaStreamIsCapturing(stream_, &capture) == cudaSuccess &&
         capture != cudaStreamCaptureStatusNone;
}

std::shared_ptr<CudaEvent> CudaStream::record(bool timed) {
  if (auto failure_so_far = status(); !failure_so_far)
    return std::make_shared<CudaEvent>(context_, nullptr, std::move(failure_so_far));
  const DeviceGuard guard{device()};
  auto event = PooledEvent::take(context_->events(), timed);
  if (event)
    note(cuda_status(cudaEventRecord((*event)->handle(), stream_), "recording an event", device()));
  else
    note(failure(event.error()));
  auto outcome = status();
  auto recorded = outcome ? std::move(*event) : nullptr;
  return std::make_shared<CudaEvent>(context_, std::move(recorded), std::move(outcome));
}

EventPtr CudaStream::record() {
  return record(true);
}

void CudaStream::wait(EventPtr event) {
  if (failed())
    return;
  const auto cuda_event = std::dynamic_pointer_cast<CudaEvent>(event);
  if (!cuda_event) {
    if (event->ready())
      return note(event->status());
    return wait_for([event = std::move(event)] {
      return event->ready() ? std::optional<Status>{event->status()} : std::nullopt;
    });
  }
  note(cuda_event->recorded_status());
  enqueue("waiting for an event", [&](cudaStream_t stream) {
    if (cuda_event->handle())
      cudaStreamWaitEvent(stream, cuda_event->handle(), 0);
  });
}

void CudaStream::wait_for(Poller::Check poll) {
  if (failed())
    return;
  if (capturing())
    return note(fail(Errc::internal, "a CUDA graph cannot wait for what is not of its device"));
  auto taken = context_->flags().take();
  if (!taken)
    return note(failure(std::move(taken).error()));
  auto* const flag = *taken;
  enqueue("waiting for the host",
          [&](cudaStream_t stream) { return context_->flags().enqueue_wait(stream, flag); });
  if (failed())
    return context_->flags().give_back(flag); // nothing looks at it
  auto& poller = context_->poller();
  poller.add(
      poller.new_lane(),
      [poll = std::move(poll), state = state_]() -> std::optional<Status> {
        if (state->ending)
          return Status{};
        return poll();
      },
      [context = context_, state = state_, flag](const Status& outcome) {
        state->note(outcome); // before what waited goes on, so that its callbacks hear of it
        WaitFlags::raise(flag);
      });
  poller.add(
      lane_, [passed = record(false)] { return passed->poll(); },
      [context = context_, flag](const Status&) { context->flags().give_back(flag); });
}

void CudaStream::on_complete(Callback callback) {
  if (!failed() && capturing())
    note(fail(Errc::internal, "a CUDA graph has no callbacks"));
  context_->poller().add(
      lane_,
      [event = record(false), state = state_]() -> std::optional<Status> {
        auto outcome = event->poll();
        if (!outcome)
          return std::nullopt;
        state->note(*outcome);
        return state->current(); // a wait for the host may have failed the stream meanwhile
      },
      std::move(callback));
}

Status CudaStream::synchronize() {
  const DeviceGuard guard{device()};
  if (stream_)
    note(cuda_status(cudaStreamSynchronize(stream_), "synchronizing a stream", device()));
  context_->poller().drain(lane_); // callbacks are part of what was enqueued
  return status();
}

} // namespace troupe::gpu
