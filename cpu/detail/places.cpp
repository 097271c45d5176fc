#include "cpu/detail/places.hpp"

#include <climits>
#include <linux/futex.h>
#include <omp.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace troupe::cpu {

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

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace troupe::cpu
