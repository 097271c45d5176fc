/// Ends the work and the waits of other threads, with a reason.
#pragma once

#include "core/error.hpp"
#include "core/net/wakeup.hpp"

#include <mutex>
#include <optional>

namespace troupe::net {

/// Thread-safe. Only the first reason counts.
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
