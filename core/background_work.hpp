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
  /// `patience` plus three times their own running time.
  explicit BackgroundWork(std::chrono::nanoseconds patience = std::chrono::milliseconds{200})
      : patience_{patience} {}

  /// Blocks until the piece is done. Rethrows its exception.
  void run(const std::function<void()>& piece);

private:
  bool starves() const { return waited_ > patience_ + 3 * ran_; }

  std::chrono::nanoseconds patience_;
  std::chrono::nanoseconds ran_{0}, waited_{0};
};

} // namespace troupe
