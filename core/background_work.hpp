/// Runs work at low priority, so that it does not delay other threads.
#pragma once

#include <chrono>
#include <functional>

namespace troupe {

/// Runs one piece of work after the other on threads of the lowest priority (nice 19), which use
/// only idle processors. If the pieces hardly get any processor time, the remaining pieces run at
/// the caller's priority, so that the work ends. Not thread-safe.
class BackgroundWork {
public:
  /// Pieces run at the caller's priority once they have waited for a processor longer than
  /// `time_limit` plus three times their own running time.
  explicit BackgroundWork(std::chrono::nanoseconds time_limit = std::chrono::milliseconds{200})
      : time_limit_{time_limit} {}

  /// Blocks until the piece is done. Rethrows its exception.
  void run(const std::function<void()>& piece);

private:
  bool starves() const { return waited_ > time_limit_ + 3 * ran_; }

  std::chrono::nanoseconds time_limit_;
  std::chrono::nanoseconds ran_{0}, waited_{0};
};

} // namespace troupe
