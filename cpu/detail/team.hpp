/// A team of threads that run work together: a primary, which supplies the work, and helpers. The
/// primary never waits for a helper that has not begun: if another process has its core, the others
/// run its parts (docs/adr/0018).
#pragma once

#include "cpu/parallel.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <sched.h>
#include <vector>

namespace troupe::cpu {

/// Work shared by several threads, and the record of which parts are taken. Any number of threads
/// may call take() concurrently; each part runs once. Only one thread may call begin(), while no
/// other uses the object.
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

/// A thread that another thread may watch and move. Does nothing if the thread has ended.
class WatchedThread {
public:
  /// Called by the thread itself. Returns true if a different thread was enlisted before.
  bool enlist();
  bool enlisted() const { return id_ != 0; }

  /// Nanoseconds that the thread has run. Stands still while something else has its core.
  std::int64_t clock() const;
  void move_to(const cpu_set_t& cores) const;

private:
  std::atomic<int> id_ = 0;
  std::atomic<clockid_t> clock_ = 0;
};

/// Cores that a team may run on: those of the thread that created it.
class Cores {
public:
  Cores() { look(); }
  /// Looks up the cores again: the parent process may have changed them since.
  void look();
  /// False if there is only one core, or if the user has bound OpenMP's threads.
  bool may_move() const { return may_move_; }
  cpu_set_t only(int core) const;
  cpu_set_t all_but(int core) const;

private:
  cpu_set_t allowed_{};
  bool may_move_ = false;
};

class Team {
public:
  /// The primary is member 0 and one of the members.
  explicit Team(std::size_t members) : helpers_(members - 1) {}

  /// Called by the primary before helpers serve.
  void gather();
  /// Called by the primary while helpers serve. Returns when every part is done.
  void run(const Work& work);
  /// Called by a helper: takes parts until dismissed.
  void serve(std::size_t member);
  /// Called by the primary: ends serve() in all helpers of `members` members, and waits for those
  /// that have ever served.
  void dismiss(std::size_t members);

private:
  struct alignas(64) Helper {
    WatchedThread thread;
    std::atomic<bool> inside = false; ///< it has, or may take, a part
  };

  std::uint32_t await(std::uint32_t seen);
  void leave(Helper& helper, std::uint32_t member);
  void open(std::uint32_t state);
  void wait_for_helpers();
  void wait_for(Helper& helper, std::uint32_t member);
  void bring(Helper& helper, std::uint32_t member);
  void keep_helpers_off();

  /// A growing number, with a state in the low bits (team.cpp).
  std::atomic<std::uint32_t> door_ = 0;
  std::atomic<std::uint32_t> sleeping_ = 0; ///< number of helpers that sleep at the door
  std::atomic<std::uint32_t> called_ = 0;   ///< the helper that the primary sleeps for; 0: none
  Lanes lanes_;
  std::uint64_t float_mode_ = 0; ///< of the primary, for the parts of lanes_
  std::vector<Helper> helpers_;
  std::atomic<bool> newcomers_ = false; ///< whether helpers were enlisted since the last move
  Cores cores_;
  int core_ = -1; ///< the core that helpers keep off
};

} // namespace troupe::cpu
