/// A team of threads that run work together: a primary, which supplies the work, and helpers. The
/// primary never waits for a helper that has not begun: if another process has its core, the others
/// run its parts (docs/adr/0018).
#pragma once

#include "cpu/detail/lanes.hpp"

#include <atomic>
#include <cstdint>
#include <ctime>
#include <sched.h>
#include <vector>

namespace troupe::cpu {

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
  std::vector<Helper> helpers_;
  std::atomic<bool> newcomers_ = false; ///< whether helpers were enlisted since the last move
  Cores cores_;
  int core_ = -1; ///< the core that helpers keep off
};

} // namespace troupe::cpu
