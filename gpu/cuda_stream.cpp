#include "gpu/cuda_stream.hpp"

#include "core/fail.hpp"

#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace troupe::gpu {

CudaStream::CudaStream(std::shared_ptr<DeviceContext> context, const StreamOptions& options)
    : context_{std::move(context)}, state_{std::make_shared<StreamState>(context_)},
      urgent_{options.urgent}, host_limit_{options.host_limit}, lane_{
                                                                    context_->poller().new_lane()} {
  if (auto made = make())
    stream_ = *made;
  else
    note(failure(std::move(made).error()));
  auto memory = context_->memory().allocate(ReductionScratch::bytes, MemoryKind::workspace);
  if (memory) {
    scratch_memory_ = std::move(*memory);
    scratch_ = ReductionScratch::in(scratch_memory_->data());
  } else {
    note(failure(std::move(memory).error()));
  }
  context_->peers().streams->add(*this);
}

Result<cudaStream_t> CudaStream::make() const {
  const DeviceGuard guard{device()};
  int lowest = 0, highest = 0;
  cudaDeviceGetStreamPriorityRange(&lowest, &highest);
  cudaStream_t made = nullptr;
  TROUPE_TRY(cuda_status(
      cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, urgent_ ? highest : lowest),
      "creating a stream", device()));
  return made;
}

CudaStream::~CudaStream() {
  context_->peers().streams->remove(*this);
  const DeviceGuard guard{device()};
  state_->ending = true; // ends its outstanding waits for the host
  if (stream_ && !context_->poller().on_thread())
    note(cuda_status(cudaStreamSynchronize(stream_), "ending a stream", device()));
  context_->poller().drain(lane_);
  if (stream_)
    cudaStreamDestroy(stream_); // enqueued work still runs to its end
}

void CudaStream::renew() {
  auto made = make();
  if (!made)
    return note(failure(std::move(made).error()));
  const DeviceGuard guard{device()};
  // Destroys the old stream last: the driver could otherwise assign the same queue again.
  if (const auto old = std::exchange(stream_, *made))
    cudaStreamDestroy(old);
}

void CudaStream::touch_scratch() {
  enqueue("zero", [this](cudaStream_t stream) {
    cudaMemsetAsync(scratch_memory_->data(), 0, sizeof(float), stream);
  });
}

void CudaStream::forget_error_before(std::string_view operation) {
  if (const auto code = cudaGetLastError(); code != cudaSuccess)
    context_->say(fmt::format("an earlier CUDA call left an unreported error, found before {}",
                              cuda_error(code, operation, device()).message));
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
  const DeviceGuard guard{device()};
  auto capture = cudaStreamCaptureStatusNone;
  return stream_ && cudaStreamIsCapturing(stream_, &capture) == cudaSuccess &&
         capture != cudaStreamCaptureStatusNone;
}

std::shared_ptr<CudaEvent> CudaStream::record(bool timed, bool for_host) {
  if (auto failure_so_far = status(); !failure_so_far)
    return std::make_shared<CudaEvent>(context_, nullptr, std::move(failure_so_far), waits_);
  const DeviceGuard guard{device()};
  auto event = context_->events().take(timed);
  if (event)
    note(cuda_status(cudaEventRecord(event->get(), stream_), "recording an event", device()));
  else
    note(failure(event.error()));
  auto marked = for_host && !capturing() ? mark() : nullptr;
  auto outcome = status();
  auto recorded = outcome ? std::move(*event) : nullptr;
  return std::make_shared<CudaEvent>(context_, std::move(recorded), std::move(outcome), waits_,
                                     std::move(marked));
}

EventPtr CudaStream::record() {
  return record(true, host_limit_.count() > 0);
}

UpdateGate CudaStream::update_gate() const {
  if (capturing()) // the graph may be launched after waits that do not exist yet
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
      [event = record(false, false), state = state_]() -> std::optional<Status> {
        auto outcome = event->poll();
        if (!outcome)
          return std::nullopt;
        state->note(*outcome);
        return state->current(); // a wait for the host may have failed the stream since
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
