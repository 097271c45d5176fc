/// Events of a CUDA device, recycled, and the clock that their times are on.
#pragma once

#include "core/device/device.hpp"
#include "gpu/detail/host_wait.hpp"
#include "gpu/detail/stream_mark.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace troupe::gpu {

class DeviceContext;

/// Creating an event costs the driver more than using one, so they are used again.
class EventPool {
public:
  explicit EventPool(int device) : device_{device} {}
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  Result<cudaEvent_t> take(bool timed);
  void give_back(cudaEvent_t event, bool timed);

private:
  int device_;
  std::mutex mutex_;
  std::vector<cudaEvent_t> timed_, untimed_;
};

/// An event of a pool, given back on destruction. The pool must outlive it.
class PooledEvent {
public:
  static Result<std::shared_ptr<PooledEvent>> take(EventPool& pool, bool timed);
  PooledEvent(EventPool& pool, cudaEvent_t event, bool timed)
      : pool_{pool}, event_{event}, timed_{timed} {}
  ~PooledEvent() { pool_.give_back(event_, timed_); }
  PooledEvent(const PooledEvent&) = delete;
  PooledEvent& operator=(const PooledEvent&) = delete;

  cudaEvent_t handle() const { return event_; }

private:
  EventPool& pool_;
  cudaEvent_t event_;
  bool timed_;
};

/// Times of a device's events on the host's steady clock. CUDA tells differences as a float of
/// milliseconds: after an hour it would count in quarters of a millisecond. So the base is moved:
/// an event whose time has been asked becomes the new one when the old is some seconds back.
class EventClock {
public:
  explicit EventClock(int device) : device_{device} {}

  /// `base` has been reached, at `at`.
  void start(std::shared_ptr<PooledEvent> base, std::chrono::nanoseconds at);
  /// The time of a timed event that has been reached; 0 when the device cannot say.
  std::chrono::nanoseconds time_of(const std::shared_ptr<PooledEvent>& event);

private:
  int device_;
  std::mutex mutex_;
  std::shared_ptr<PooledEvent> base_;
  std::chrono::nanoseconds at_{};
};

/// A point in a CUDA stream's work. Carries the error of the stream that recorded it, and of the
/// waits for the host that it stands behind, so that streams that wait for it do not compute on
/// what was never written.
class CudaEvent final : public Event {
public:
  /// `event` is empty when the stream had failed: such an event is ready, and at time 0. `mark`,
  /// if there is one, stands directly after it: the host then sees the event without calling CUDA.
  CudaEvent(std::shared_ptr<DeviceContext> context, std::shared_ptr<PooledEvent> event,
            Status status, HostWaits waits, std::shared_ptr<StreamMark> mark = nullptr);

  bool ready() const override { return poll().has_value(); }
  std::chrono::nanoseconds time() const override;
  Status status() const override { return poll().value_or(Status{}); }
  /// How it was reached; empty as long as it was not.
  std::optional<Status> poll() const;
  /// Null for a stream that had failed.
  cudaEvent_t handle() const { return event_ ? event_->handle() : nullptr; }
  /// The stream's status when the event was recorded.
  const Status& recorded_status() const { return status_; }
  /// Those in front of it, save some that had ended well by then.
  const HostWaits& waits() const { return waits_; }

private:
  Status outcome() const;
  std::optional<Status> query() const;

  std::shared_ptr<DeviceContext> context_; ///< first: it owns the pool
  std::shared_ptr<PooledEvent> event_;
  Status status_;
  HostWaits waits_;
  std::shared_ptr<StreamMark> mark_;
  mutable std::atomic<bool> reached_ = false;
};

} // namespace troupe::gpu
