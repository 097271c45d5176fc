/// Where threads run, and whether they do.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <sched.h>

namespace troupe::cpu {

/// A thread that another one may watch and move. It may have ended: then nothing is done.
class WatchedThread {
public:
  /// Called by the thread itself. True where it was another one before.
  bool enlist();
  bool enlisted() const { return id_ != 0; }

  /// How long it has run, in nanoseconds. That stands still while something else has its core.
  std::int64_t clock() const;
  void move_to(const cpu_set_t& cores) const;

private:
  std::atomic<int> id_ = 0;
  std::atomic<clockid_t> clock_ = 0;
};

/// Cores that a team may run on: those of the thread that made it.
class Cores {
public:
  Cores() { look(); }
  /// Looks the cores up again: whoever started the process may have changed them since.
  void look();
  /// False where there is one core, or where the user has bound OpenMP's threads.
  bool may_move() const { return may_move_; }
  cpu_set_t only(int core) const;
  cpu_set_t all_but(int core) const;

private:
  cpu_set_t allowed_{};
  bool may_move_ = false;
};

/// A thread sleeps as long as the word has the value.
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value);
void wake_all(std::atomic<std::uint32_t>& word);

/// Tells the core that the thread spins.
inline void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

} // namespace troupe::cpu
