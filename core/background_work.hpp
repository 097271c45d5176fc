/// Work that other threads are not to be held up by.
#pragma once

#include <chrono>
#include <functional>

namespace troupe {

/// Runs pieces of one work on threads of the lowest priority (nice 19): on a machine whose
/// processors are all busy it takes what the others leave. Where they leave next to nothing, what
/// is left of the work is done at the caller's priority, so that it ends. Not for several threads
/// at once.
class BackgroundWork {
public:
  /// Pieces may wait this long for a processor, and three times as long as they ran.
  explicit BackgroundWork(std::chrono::nanoseconds patience = std::chrono::milliseconds{200})
      : patience_{patience} {}

  /// Blocks until the piece is done; throws what it throws.
  void run(const std::function<void()>& piece);

private:
  bool starves() const { return waited_ > patience_ + 3 * ran_; }

  std::chrono::nanoseconds patience_;
  std::chrono::nanoseconds ran_{0}, waited_{0};
};

} // namespace troupe
