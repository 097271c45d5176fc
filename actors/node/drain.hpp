/// Drains a process (finish its step, then leave), after a signal or a message to its NODE.
#pragma once

#include "actors/interfaces.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace troupe::actors {

/// Asks the node to drain, and wakes the thread that owns the actors, no matter whether the request
/// came from here or in a message. Thread-safe.
class Drain {
public:
  /// Null: the node ends, and ask() does nothing from now on.
  void watch(const node_actor& node) {
    const std::lock_guard lock{mutex_};
    node_ = node;
  }
  void ask() {
    {
      const std::lock_guard lock{mutex_};
      if (node_)
        caf::anon_send(node_, atom::stop_v, StopReason::signal);
    }
    note();
  }
  /// Notes that the node was asked.
  void note() {
    const std::lock_guard lock{mutex_};
    asked_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return asked_; });
  }
  /// Waits up to the limit. Returns whether the node was asked.
  bool asked_within(std::chrono::milliseconds limit) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, limit, [this] { return asked_; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  node_actor node_;
  bool asked_ = false;
};

} // namespace troupe::actors
