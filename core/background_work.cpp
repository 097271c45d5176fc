#include "core/background_work.hpp"

#include <ctime>
#include <future>
#include <thread>
#include <tuple>

#include <sys/resource.h>

namespace troupe {

namespace {

using std::chrono::nanoseconds;

nanoseconds time_of_thread() {
  std::timespec time{};
  std::ignore = ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds{time.tv_sec} + nanoseconds{time.tv_nsec};
}

} // namespace

void BackgroundWork::run(const std::function<void()>& piece) {
  if (starves())
    return piece();
  const auto begin = std::chrono::steady_clock::now();
  std::packaged_task<void()> task{piece};
  nanoseconds ran{0};
  // A separate thread, because a thread cannot regain its priority without privileges.
  std::jthread{[&] {
    constexpr int lowest = 19;
    std::ignore = ::setpriority(PRIO_PROCESS, 0, lowest); // Linux: only of the calling thread
    task();
    ran = time_of_thread();
  }}.join();
  ran_ += ran;
  waited_ += std::chrono::steady_clock::now() - begin - ran;
  task.get_future().get();
}

} // namespace troupe
