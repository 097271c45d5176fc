/// A stream's wait for the host, with the streams that depend on it.
#pragma once

#include "gpu/detail/stream_state.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::gpu {

/// A stream depends on the waits that it enqueued, and on those of a stream whose event it waits
/// for. When a wait fails, all dependent streams fail before any of them continues. Thread-safe.
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
