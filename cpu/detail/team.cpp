#include "cpu/detail/team.hpp"

#include "cpu/detail/float_mode.hpp"

#include <climits>
#include <linux/futex.h>
#include <omp.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace troupe::cpu {

namespace {

/// A helper spins for the next work for about as long as the primary takes to add up sums by
/// itself; waking the helper would take as long.
constexpr int pauses_before_sleep = 10000;
/// Some ten microseconds between two checks of a helper's clock.
constexpr int pauses_between_looks = 500;

// States of the door.
constexpr std::uint32_t closed = 0, opened = 1, dismissed = 2, next = 4;

std::uint32_t state_of(std::uint32_t door) {
  return door % next;
}

/// Sleeps while the word has the value.
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

/// Tells the core that the thread is spinning.
void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

} // namespace

bool WatchedThread::enlist() {
  clockid_t clock{};
  if (id_ == gettid() || pthread_getcpuclockid(pthread_self(), &clock) != 0)
    return false;
  clock_ = clock;
  id_ = gettid();
  return true;
}

std::int64_t WatchedThread::clock() const {
  timespec time{};
  clock_gettime(clock_, &time);
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

void WatchedThread::move_to(const cpu_set_t& cores) const {
  // Ignores a refusal: the system then places the thread as it likes.
  if (enlisted())
    static_cast<void>(sched_setaffinity(id_, sizeof(cores), &cores));
}

void Cores::look() {
  may_move_ = sched_getaffinity(0, sizeof(allowed_), &allowed_) == 0 && CPU_COUNT(&allowed_) > 1 &&
              omp_get_proc_bind() == omp_proc_bind_false;
}

cpu_set_t Cores::only(int core) const {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<unsigned>(core), &cores);
  return cores;
}

cpu_set_t Cores::all_but(int core) const {
  cpu_set_t cores = allowed_;
  CPU_CLR(static_cast<unsigned>(core), &cores);
  return cores;
}

void Team::run(const Work& work) {
  keep_helpers_off();
  lanes_.begin(work);
  float_mode_ = float_mode();
  open(opened);
  const auto never = [] { return false; };
  lanes_.take(0, never);
  door_ = door_ - opened;
  wait_for_helpers();
  lanes_.take(0, never); // parts that a called helper has left
}

void Team::gather() {
  open(closed);
}

void Team::dismiss(std::size_t members) {
  for (std::size_t i = 0; i + 1 < members; ++i)
    helpers_[i].inside = helpers_[i].thread.enlisted();
  open(dismissed);
  wait_for_helpers();
}

/// In sequential consistency, each store here precedes the load that checks it: either the helper
/// that goes to sleep sees the new door, or the primary sees the sleeper.
void Team::open(std::uint32_t state) {
  door_ = (door_ / next + 1) * next + state;
  if (sleeping_ > 0)
    wake_all(door_);
}

void Team::serve(std::size_t member) {
  auto& helper = helpers_[member - 1];
  const auto number = static_cast<std::uint32_t>(member);
  if (helper.thread.enlist())
    newcomers_ = true;
  std::uint32_t door = 0;
  while (state_of(door = await(door)) != dismissed) {
    helper.inside = true;
    if (door_ == door) { // the primary waits for all inside, so the door stays as it is
      const FloatModeScope scope{float_mode_};
      lanes_.take(member, [&] { return called_.load(std::memory_order_relaxed) == number; });
    }
    leave(helper, number);
  }
  leave(helper, number);
}

/// Returns the door once it is open for work that the helper has not seen.
std::uint32_t Team::await(std::uint32_t seen) {
  for (int pauses = 0;; ++pauses) {
    const std::uint32_t door = door_;
    if (door != seen && state_of(door) != closed)
      return door;
    if (pauses < pauses_before_sleep) {
      pause_core();
      continue;
    }
    ++sleeping_;
    sleep_while(door_, door);
    --sleeping_;
    pauses = 0;
  }
}

/// If the primary has lent its core, the helper returns it at once.
void Team::leave(Helper& helper, std::uint32_t member) {
  helper.inside = false;
  if (called_ != member)
    return;
  const bool may_move = cores_.may_move(); // the primary may look again once it is awake
  const auto others = cores_.all_but(core_);
  called_ = 0;
  wake_all(called_);
  if (may_move)
    helper.thread.move_to(others);
}

void Team::wait_for_helpers() {
  for (std::size_t i = 0; i < helpers_.size(); ++i)
    wait_for(helpers_[i], static_cast<std::uint32_t>(i + 1));
}

/// A running helper finishes soon. If its clock stands still, another process has displaced it in
/// the middle of a part.
void Team::wait_for(Helper& helper, std::uint32_t member) {
  for (std::int64_t before = -1; helper.inside;) {
    for (int i = 0; i < pauses_between_looks && helper.inside; ++i)
      pause_core();
    if (!helper.inside)
      return;
    const std::int64_t clock = helper.thread.clock();
    if (clock == before)
      bring(helper, member);
    before = clock;
  }
}

/// Lets the helper finish its part on the primary's core, which is idle anyway.
void Team::bring(Helper& helper, std::uint32_t member) {
  core_ = sched_getcpu();
  if (cores_.may_move())
    helper.thread.move_to(cores_.only(core_));
  called_ = member;
  while (helper.inside && called_ == member)
    sleep_while(called_, member);
  // The helper may have finished before it saw the call.
  if (std::uint32_t expected = member;
      called_.compare_exchange_strong(expected, 0) && cores_.may_move())
    helper.thread.move_to(cores_.all_but(core_));
}

/// The system tends to wake a helper on the core of the thread that wakes it. The two would then
/// take turns on this core, while another process has a core to itself.
void Team::keep_helpers_off() {
  const int core = sched_getcpu();
  if (core == core_ && !newcomers_)
    return;
  newcomers_ = false;
  core_ = core;
  cores_.look();
  if (cores_.may_move())
    for (auto& helper : helpers_)
      helper.thread.move_to(cores_.all_but(core));
}

} // namespace troupe::cpu
