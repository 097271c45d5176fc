/// Work shared by several threads, and the record of which parts are taken.
#pragma once

#include "cpu/parallel.hpp"

#include <atomic>
#include <cstddef>
#include <vector>

namespace troupe::cpu {

/// Any number of threads may call take() concurrently; each part runs once. Only one thread may
/// call begin(), while no other uses the object.
class Lanes {
public:
  void begin(const Work& work) {
    work_ = work;
    if (lanes_.size() < work.lanes)
      lanes_ = std::vector<Lane>(work.lanes);
    for (std::size_t i = 0; i < work.lanes; ++i) {
      lanes_[i].next.store(work.parts * i / work.lanes, std::memory_order_relaxed);
      lanes_[i].end = work.parts * (i + 1) / work.lanes;
    }
  }

  /// Runs parts until none is left to take, or until stop() returns true between two parts. Starts
  /// with the thread's own lane, whose data may still be in its cache from the last call.
  template <class Stop>
  void take(std::size_t member, Stop&& stop) {
    for (std::size_t i = 0; i < work_.lanes && !stop(); ++i) {
      const std::size_t lane = (member + i) % work_.lanes;
      if (work_.in_order)
        take_in_order(lane, stop);
      else
        take_free(lane, stop);
    }
  }

private:
  struct alignas(64) Lane {
    std::atomic<std::size_t> next = 0;
    std::size_t end = 0;
    std::atomic<bool> taken = false; ///< in order: a thread is working in the lane
  };

  template <class Stop>
  void take_free(std::size_t index, Stop&& stop) {
    auto& lane = lanes_[index];
    while (lane.next.load(std::memory_order_relaxed) < lane.end && !stop())
      if (const std::size_t part = lane.next++; part < lane.end)
        work_.function(work_.context, part, index);
  }

  /// A lane stays with the thread that began it, unless that thread stops; then another may
  /// continue.
  template <class Stop>
  void take_in_order(std::size_t index, Stop&& stop) {
    auto& lane = lanes_[index];
    if (lane.taken.exchange(true, std::memory_order_acquire))
      return;
    while (lane.next.load(std::memory_order_relaxed) < lane.end && !stop()) {
      work_.function(work_.context, lane.next.load(std::memory_order_relaxed), index);
      lane.next.fetch_add(1, std::memory_order_relaxed);
    }
    lane.taken.store(false, std::memory_order_release);
  }

  Work work_{};
  std::vector<Lane> lanes_;
};

} // namespace troupe::cpu
