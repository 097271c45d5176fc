/// Waiting in poll(2): until a point in time, or until another thread wakes or cancels it.
#pragma once

#include "core/error.hpp"
#include "core/net/descriptor.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include <poll.h>
#include <sys/eventfd.h>

namespace troupe::net {

/// Returns the time that is left until `end`, rounded up; 0 if it has passed.
std::chrono::milliseconds time_until(std::chrono::steady_clock::time_point end);

/// Blocks until a descriptor is ready or `end` has passed. Returns whether any is ready.
bool wait_until(std::span<pollfd> descriptors, std::chrono::steady_clock::time_point end);

/// Wakes another thread from poll(2).
class Wakeup {
public:
  /// Readable between signal() and clear().
  int number() const { return event_.number(); }
  void signal() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(number(), &one, sizeof one);
  }
  void clear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(number(), &count, sizeof count);
  }

private:
  Descriptor event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

/// Ends the work and the waits of other threads, with a reason. Thread-safe. Only the first reason
/// counts.
class Cancellation {
public:
  /// Returns whether this is the first reason.
  bool cancel(const Error& reason) {
    {
      const std::lock_guard lock{mutex_};
      if (reason_)
        return false;
      reason_ = reason;
    }
    signal_.signal();
    return true;
  }
  /// Error: the reason, if there is one.
  Status status() const {
    const std::lock_guard lock{mutex_};
    return reason_ ? failure(*reason_) : Status{};
  }
  /// Readable for poll(2) from the first reason on.
  const Wakeup& signal() const { return signal_; }

private:
  mutable std::mutex mutex_;
  std::optional<Error> reason_;
  Wakeup signal_;
};

} // namespace troupe::net
