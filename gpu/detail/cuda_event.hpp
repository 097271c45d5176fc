/// Recycled events of a CUDA device, and the clock of their times.
#pragma once

#include "core/device/device.hpp"
#include "gpu/detail/stream_mark.hpp"
#include "gpu/detail/stream_state.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

namespace troupe::gpu {

class DeviceContext;

/// An event of an EventPool.
using PooledEvent = std::shared_ptr<std::remove_pointer_t<cudaEvent_t>>;

/// Reuses events: for the driver, creating one costs more than using one.
class EventPool {
public:
  explicit EventPool(int device) : device_{device} {}
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  /// Returns an event that returns to the pool when its last pointer is destroyed. The pool must
  /// outlive it.
  Result<PooledEvent> take(bool timed);

private:
  Result<cudaEvent_t> unused(bool timed);

  int device_;
  std::mutex mutex_;
  std::vector<cudaEvent_t> timed_, untimed_;
};

/// Converts times of a device's events to the host's steady clock. CUDA reports differences as a
/// float of milliseconds, whose resolution after an hour is a quarter of a millisecond. So the base
/// moves: an event whose time is requested becomes the new base if the old base is some seconds
/// older.
class EventClock {
public:
  explicit EventClock(int device) : device_{device} {}

  /// Sets the base: an event that was reached at time `at`.
  void start(PooledEvent base, std::chrono::nanoseconds at);
  /// Returns the time of a timed event that has been reached; 0 if the device cannot report it.
  std::chrono::nanoseconds time_of(const PooledEvent& event);

private:
  int device_;
  std::mutex mutex_;
  PooledEvent base_;
  std::chrono::nanoseconds at_{};
};

/// A point in a CUDA stream's work. Carries the error of the stream that recorded it and of the
/// waits for the host that precede it, so that streams that wait for it do not compute on data that
/// was never written.
class CudaEvent final : public Event {
public:
  /// `event` is null if the stream had failed: the event is then ready, with time 0. `mark`, if not
  /// null, directly follows the event in the stream; the host can then poll it without calling
  /// CUDA.
  CudaEvent(std::shared_ptr<DeviceContext> context, PooledEvent event, Status status,
            HostWaits waits, std::shared_ptr<StreamMark> mark = nullptr);

  bool ready() const override { return poll().has_value(); }
  std::chrono::nanoseconds time() const override;
  Status status() const override { return poll().value_or(Status{}); }
  /// Returns the outcome once the stream has reached the event; empty before.
  std::optional<Status> poll() const;
  /// Null if the stream had failed.
  cudaEvent_t handle() const { return event_.get(); }
  /// The stream's status when the event was recorded.
  const Status& recorded_status() const { return status_; }
  /// Waits that precede it, except some that had already ended without error.
  const HostWaits& waits() const { return waits_; }

private:
  Status outcome() const;
  std::optional<Status> query() const;

  std::shared_ptr<DeviceContext> context_; ///< declared first: it owns the pool
  PooledEvent event_;
  Status status_;
  HostWaits waits_;
  std::shared_ptr<StreamMark> mark_;
  mutable std::atomic<bool> reached_ = false;
};

} // namespace troupe::gpu
