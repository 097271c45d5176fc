/// A stream of the host device: a queue of tasks and the thread that runs them in order.
#pragma once

#include "core/device/device.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace troupe::cpu {

/// Completed by a stream's thread. Carries the error of the stream that recorded it, so that
/// waiting streams do not compute on data that was never written.
class HostEvent final : public Event {
public:
  bool ready() const override;
  std::chrono::nanoseconds time() const override;
  Status status() const override;
  /// Blocks the calling thread; must not be called in a handler.
  Status wait() const;
  void reach(Status status);

private:
  mutable std::mutex mutex_;
  mutable std::condition_variable reached_;
  std::optional<Status> status_;
  std::chrono::nanoseconds time_{};
};

/// Destruction runs all enqueued tasks to the end, but no longer waits for events of other devices.
class HostStream final : public Stream {
public:
  using Task = std::function<Status()>;

  explicit HostStream(const StreamOptions& options);
  ~HostStream() override;
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  /// Runs the task on the stream's thread after all work enqueued before, unless some of it failed.
  /// Exceptions from the task become errors of the device.
  void enqueue(Task task) { enqueue(std::move(task), false); }
  /// Enqueues a task that calls oneDNN primitives that use OpenMP's threads. The team of our
  /// kernels (parallel.hpp) releases these threads in the meantime.
  void enqueue_for_library(Task task) { enqueue(std::move(task), true); }
  /// Does one of the two.
  void enqueue(Task task, bool for_library);

  EventPtr record() override;
  void wait(EventPtr event) override;
  void on_complete(Callback callback) override;
  Status synchronize() override;

private:
  struct Shared;

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

/// Returns the host stream that implements a stream of a host device.
inline HostStream& host_stream(Stream& stream) {
  return static_cast<HostStream&>(stream);
}

} // namespace troupe::cpu
