/// State of a CUDA stream that outlives it, in entries of the poller and in waits that it depends
/// on.
#pragma once

#include "core/error.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

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

/// A stream's wait for the host, with the streams that depend on it. A stream depends on the waits
/// that it enqueued, and on those of a stream whose event it waits for. When a wait fails, all
/// dependent streams fail before any of them continues. Thread-safe.
class HostWait {
public:
  /// Adds a dependent stream; `number` is that stream's number for this wait. Call it before
  /// enqueueing dependent work.
  void add(std::shared_ptr<StreamState> stream, std::uint32_t number);
  /// Ends the wait. Call it before the stream continues. Destroys nothing and does not call CUDA.
  void end(const Status& outcome);
  /// Empty until the wait has ended.
  std::optional<Status> outcome() const;
  bool ended_well() const { return ended_well_; }

private:
  mutable std::mutex mutex_;
  std::optional<Status> outcome_;
  std::atomic<bool> ended_well_ = false;
  std::vector<std::pair<std::shared_ptr<StreamState>, std::uint32_t>> behind_;
};

/// An immutable list that streams and events share.
using HostWaits = std::shared_ptr<const std::vector<std::shared_ptr<HostWait>>>;

} // namespace troupe::gpu
