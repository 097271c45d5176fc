/// A hardware queue of a device: runs the work of streams, one item after the other.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace emulation {

using Work = std::function<void()>;

/// A queue with a thread that may access the memory of its device and of the device's peers. Lives
/// as long as the process.
class Queue {
public:
  explicit Queue(int device);

  void push(Work work);
  /// Blocks until all work pushed before has run.
  void drain();

private:
  void run(int device);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
};

/// Returns the device's queue for its n-th stream: streams take the device's connections in turn.
Queue& queue_of(int device, unsigned stream);
/// Blocks until all work pushed to the device before has run.
void drain_device(int device);

/// Lets the device's operations access the memory of `peer` from now on.
void enable_peer(int device, int peer);

} // namespace emulation
