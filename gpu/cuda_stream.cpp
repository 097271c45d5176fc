#include "cuda_stream.hpp"

#include "troupe/core/fail.hpp"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace troupe::gpu {

CudaStream::CudaStream(std::shared_ptr<DeviceContext> context, const StreamOptions& options)
    : context_{std::move(context)}, state_{std::make_shared<StreamState>(context_)},
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
    return std::make_shared<CudaEvent>(context_, nullptr, std::move(failure_so_far), waits_);
  const DeviceGuard guard{device()};
  auto event = PooledEvent::take(context_->events(), timed);
  if (event)
    note(cuda_status(cudaEventRecord((*event)->handle(), stream_), "recording an event", device()));
  else
    note(failure(event.error()));
  auto outcome = status();
  auto recorded = outcome ? std::move(*event) : nullptr;
  return std::make_shared<CudaEvent>(context_, std::move(recorded), std::move(outcome), waits_);
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
  stand_behind(cuda_event->waits());
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
  // Not record(): an earlier wait may fail meanwhile, and the flag is looked at all the same.
  std::shared_ptr<CudaEvent> passed;
  enqueue("waiting for the host", [&](cudaStream_t stream) -> Status {
    TROUPE_TRY(auto event, PooledEvent::take(context_->events(), false));
    TROUPE_TRY(context_->flags().enqueue_wait(stream, flag));
    const auto code = cudaEventRecord(event->handle(), stream);
    passed = std::make_shared<CudaEvent>(context_, std::move(event), Status{}, waits_);
    return cuda_status(code, "recording an event", device());
  });
  if (!passed)
    return context_->flags().give_back(flag); // nothing looks at it
  const auto wait = std::make_shared<HostWait>();
  stand_behind(std::make_shared<HostWaits::element_type>(1, wait));
  auto& poller = context_->poller();
  poller.add(
      poller.new_lane(),
      [poll = std::move(poll), state = state_]() -> std::optional<Status> {
        if (state->ending)
          return fail(Errc::stopped, "the stream ended while it waited for the host");
        return poll();
      },
      [context = context_, wait, flag](const Status& outcome) {
        wait->end(outcome); // before what waited goes on
        WaitFlags::raise(flag);
      });
  poller.add(
      lane_, [passed] { return passed->poll(); },
      [context = context_, flag](const Status&) { context->flags().give_back(flag); });
}

/// What comes next waits for these, too. Waits that have ended well need not be followed.
void CudaStream::stand_behind(const HostWaits& waits) {
  std::vector<std::shared_ptr<HostWait>> all;
  std::ranges::remove_copy_if(*waits_, std::back_inserter(all), &HostWait::ended_well);
  const auto known = all.size();
  for (const auto& wait : *waits)
    if (std::ranges::find(all, wait) == all.end())
      all.push_back(wait);
  if (all.size() == known)
    return;
  ++last_wait_;
  for (auto wait = all.begin() + static_cast<std::ptrdiff_t>(known); wait != all.end(); ++wait)
    (*wait)->add(state_, last_wait_);
  waits_ = std::make_shared<HostWaits::element_type>(std::move(all));
}

UpdateGate CudaStream::update_gate() const {
  if (capturing()) // the graph may be launched behind waits that are still to come
    return {state_->first_failed_wait(), std::numeric_limits<std::uint32_t>::max(), votes_};
  if (std::ranges::all_of(*waits_, &HostWait::ended_well))
    return {.votes = votes_};
  return {state_->first_failed_wait(), last_wait_, votes_};
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
