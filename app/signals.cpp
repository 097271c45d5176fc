#include "signals.hpp"

#include <csignal>
#include <unistd.h>

namespace troupe::app {

namespace {

/// SIGUSR1 is ours: it ends the thread.
sigset_t awaited() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1})
    sigaddset(&set, number);
  return set;
}

} // namespace

Signals::Signals() {
  const auto set = awaited();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread{[this] { wait_for_signals(); }};
}

Signals::~Signals() {
  {
    const std::lock_guard lock{mutex_};
    ended_ = true;
  }
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

void Signals::on_first(std::function<void()> drain) {
  const std::lock_guard lock{mutex_};
  drain_ = std::move(drain);
  if (came_ && drain_)
    drain_();
}

void Signals::wait_for_signals() {
  const auto set = awaited();
  for (int number = 0; sigwait(&set, &number) == 0;) {
    const std::lock_guard lock{mutex_};
    if (ended_)
      return;
    if (number == SIGUSR1)
      continue;
    if (came_) // said twice: files are written to temporary names, so nothing is half done
      ::_exit(128 + number);
    came_ = true;
    if (drain_)
      drain_();
  }
}

} // namespace troupe::app
