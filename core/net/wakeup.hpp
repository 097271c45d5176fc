/// Wakes another thread from poll(2).
#pragma once

#include "core/error.hpp"
#include "core/net/descriptor.hpp"

#include <cstdint>
#include <mutex>
#include <optional>

#include <sys/eventfd.h>

namespace troupe::net {

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
