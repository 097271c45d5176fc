/// Where threads run, and whether they are running.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <sched.h>

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

/// Sleeps while the word has the value.
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value);
void wake_all(std::atomic<std::uint32_t>& word);

/// Tells the core that the thread is spinning.
inline void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

} // namespace troupe::cpu
