/// State of a CUDA stream that outlives it, in entries of the poller and in waits that it depends
/// on.
#pragma once

#include "core/error.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

namespace troupe::gpu {

class DeviceContext;

/// The stream's first failure, and the word of its update gate (kernels/update_gate.hpp).
/// Thread-safe.
class StreamState {
public:
  /// Starts failed if there is no page-locked memory for the word.
  explicit StreamState(std::shared_ptr<DeviceContext> context);
  ~StreamState();
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;

  /// Keeps the status if it is the first failure.
  void note(Status outcome);
  Status current() const;
  /// Records that the stream's wait of this number failed. Kernels after the wait find the gate
  /// closed if they begin after this call.
  void fail_behind(std::uint32_t wait, const Status& outcome);
  /// The word's address for kernels.
  const std::uint32_t* first_failed_wait() const { return on_device_; }

  std::atomic<bool> ending = false;

private:
  Status take_word();

  std::shared_ptr<DeviceContext> context_;
  mutable std::mutex mutex_;
  Status status_;
  std::uint32_t* word_ = nullptr;
  const std::uint32_t* on_device_ = nullptr;
};

} // namespace troupe::gpu
