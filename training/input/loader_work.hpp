/// Counts the work of a node's loader threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace troupe::training {

/// Sums over all loader threads. Thread-safe.
class LoaderWork {
public:
  /// Runs `fill`, counts its time, and returns its result.
  template <class Fill>
  auto time(const Fill& fill) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = fill();
    nanoseconds_ += (std::chrono::steady_clock::now() - begin) / std::chrono::nanoseconds{1};
    ++batches_;
    return result;
  }

  std::int64_t batches() const { return batches_; }
  double seconds() const { return 1e-9 * static_cast<double>(nanoseconds_.load()); }

private:
  std::atomic<std::int64_t> batches_ = 0, nanoseconds_ = 0;
};

} // namespace troupe::training
