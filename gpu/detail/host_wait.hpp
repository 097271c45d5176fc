/// A wait for the host, and the streams that stand behind it.
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

/// A stream stands behind the waits that it enqueued, and behind those of a stream whose event it
/// waits for. When a wait fails, all of them fail before any goes on. Thread-safe.
class HostWait {
public:
  /// `number` is the stream's own for this wait. Call it before anything is enqueued behind.
  void add(std::shared_ptr<StreamState> stream, std::uint32_t number);
  /// Call it before the stream continues. Destroys nothing and does not call CUDA.
  void end(const Status& outcome);
  /// Nothing as long as it is not known.
  std::optional<Status> outcome() const;
  bool ended_well() const { return ended_well_; }

private:
  mutable std::mutex mutex_;
  std::optional<Status> outcome_;
  std::atomic<bool> ended_well_ = false;
  std::vector<std::pair<std::shared_ptr<StreamState>, std::uint32_t>> behind_;
};

/// A list that streams and events share: it never changes.
using HostWaits = std::shared_ptr<const std::vector<std::shared_ptr<HostWait>>>;

} // namespace troupe::gpu
