#include "gpu/detail/cuda_event.hpp"

#include "core/fail.hpp"
#include "gpu/cuda_error.hpp"
#include "gpu/device_context.hpp"
#include "gpu/device_guard.hpp"

#include <cmath>

namespace troupe::gpu {

namespace {

/// Up to this age, a float of milliseconds has a resolution of a quarter of a microsecond.
constexpr auto base_lifetime = std::chrono::seconds{2};

} // namespace

EventPool::~EventPool() {
  const DeviceGuard guard{device_};
  for (const auto* events : {&timed_, &untimed_})
    for (const auto event : *events)
      cudaEventDestroy(event);
}

Result<cudaEvent_t> EventPool::unused(bool timed) {
  {
    const std::lock_guard lock{mutex_};
    auto& events = timed ? timed_ : untimed_;
    if (!events.empty()) {
      const auto event = events.back();
      events.pop_back();
      return event;
    }
  }
  const DeviceGuard guard{device_};
  cudaEvent_t event = nullptr;
  const auto flags = timed ? cudaEventDefault : cudaEventDisableTiming;
  TROUPE_TRY(cuda_status(cudaEventCreateWithFlags(&event, flags), "creating an event", device_));
  return event;
}

Result<PooledEvent> EventPool::take(bool timed) {
  TROUPE_TRY(const auto taken, unused(timed));
  return PooledEvent{taken, [this, timed](cudaEvent_t event) {
                       const std::lock_guard lock{mutex_};
                       (timed ? timed_ : untimed_).push_back(event);
                     }};
}

void EventClock::start(PooledEvent base, std::chrono::nanoseconds at) {
  const std::lock_guard lock{mutex_};
  base_ = std::move(base);
  at_ = at;
}

std::chrono::nanoseconds EventClock::time_of(const PooledEvent& event) {
  const std::lock_guard lock{mutex_};
  const DeviceGuard guard{device_};
  float milliseconds = 0;
  if (!base_ || cudaEventElapsedTime(&milliseconds, base_.get(), event.get()) != cudaSuccess) {
    cudaGetLastError(); // clears the error: the result reports it, and a later call must not
    return {};
  }
  const auto elapsed =
      std::chrono::nanoseconds{std::llround(static_cast<double>(milliseconds) * 1e6)};
  const auto time = at_ + elapsed;
  if (elapsed > base_lifetime) {
    base_ = event;
    at_ = time;
  }
  return time;
}

CudaEvent::CudaEvent(std::shared_ptr<DeviceContext> context, PooledEvent event, Status status,
                     HostWaits waits, std::shared_ptr<StreamMark> mark)
    : context_{std::move(context)}, event_{std::move(event)}, status_{std::move(status)},
      waits_{std::move(waits)}, mark_{std::move(mark)} {}

std::chrono::nanoseconds CudaEvent::time() const {
  return event_ ? context_->clock().time_of(event_) : std::chrono::nanoseconds{};
}

/// Precondition: the event was reached, so all preceding waits have ended.
Status CudaEvent::outcome() const {
  for (const auto& wait : *waits_)
    if (auto ended = wait->outcome(); ended && !*ended)
      return *std::move(ended);
  return status_;
}

std::optional<Status> CudaEvent::poll() const {
  if (!event_ || reached_)
    return outcome();
  if (!mark_)
    return query();
  auto came = mark_->poll();
  if (!came || !*came)
    return came;
  reached_ = true;
  return outcome();
}

std::optional<Status> CudaEvent::query() const {
  const DeviceGuard guard{context_->index()};
  const auto code = cudaEventQuery(event_.get());
  if (code == cudaErrorNotReady) {
    cudaGetLastError(); // clears the code, which is not an error
    return std::nullopt;
  }
  if (code != cudaSuccess) {
    cudaGetLastError();
    return status_ ? cuda_status(code, "waiting for work", context_->index()) : status_;
  }
  reached_ = true;
  return outcome();
}

} // namespace troupe::gpu
