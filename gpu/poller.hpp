/// A thread that polls whether work is done and calls back.
///
/// It knows nothing about CUDA: functions do the checks. Entries of one lane (a stream) complete in
/// the order in which they were added; lanes do not wait for each other.
#pragma once

#include "core/error.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace troupe::gpu {

/// Sleep between two polls: a sixteenth of the time since something completed, within these bounds.
/// So a wait becomes only a little longer, and long steps use little processor time.
struct PollPacing {
  std::chrono::nanoseconds spin = std::chrono::microseconds{30};
  std::chrono::nanoseconds shortest = std::chrono::microseconds{20};
  std::chrono::nanoseconds longest = std::chrono::microseconds{200};

  /// Returns 0 for polling again at once.
  std::chrono::nanoseconds nap(std::chrono::nanoseconds waited) const;
};

class Poller {
public:
  using Lane = std::uint64_t;
  /// Returns the outcome once there is one. Must not block; runs on the poller's thread.
  using Check = std::function<std::optional<Status>()>;
  /// Must not block; may send a message, and may destroy streams and the poller's owner.
  using Callback = std::function<void(Status)>;
  /// Returns an object that the thread owns until it ends.
  using Begin = std::function<std::shared_ptr<void>()>;

  /// `name` is the thread's name (truncated to 15 characters). The thread calls `begin` first.
  explicit Poller(const std::string& name, const Begin& begin = {});
  /// Completes outstanding entries. Called from a callback, it detaches the thread, which completes
  /// them.
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  /// Returns an unused lane.
  Lane new_lane();
  void add(Lane lane, Check check, Callback callback);
  /// Blocks until the lane has no outstanding entries. Called from a callback, it returns at once.
  void drain(Lane lane);
  /// Whether the caller is one of the poller's callbacks or checks.
  bool on_thread() const { return thread_.get_id() == std::this_thread::get_id(); }

private:
  struct Shared;

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

} // namespace troupe::gpu
