/// A hardware queue of a device: what streams enqueue runs here, one after the other.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace emulation {

using Work = std::function<void()>;

/// A thread that may touch the device's memory, and that of its peers. Lives as long as the
/// process.
class Queue {
public:
  explicit Queue(int device);

  void push(Work work);
  /// Blocks until everything has run that was pushed before.
  void drain();

private:
  void run(int device);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
};

/// The device's queue for its n-th stream: as many as there are connections take turns.
Queue& queue_of(int device, unsigned stream);
/// Blocks until everything has run that was pushed to the device before.
void drain_device(int device);

/// From now on the device's operations may touch the memory of `peer`.
void enable_peer(int device, int peer);

} // namespace emulation
