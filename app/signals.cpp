#include "signals.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace troupe::app {

namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

void say(std::string_view text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

[[noreturn]] void end_at_once(std::string_view why) {
  say(why);
  _exit(1); // no destructors: they would wait for what we no longer want to wait for
}

} // namespace

StopSignals::StopSignals(std::chrono::milliseconds drain_timeout) : drain_timeout_{drain_timeout} {
  const auto set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  // A reader of our output or a scraper that goes away must not end a run.
  signal(SIGPIPE, SIG_IGN);
  thread_ = std::thread{[this] { watch(); }};
}

StopSignals::~StopSignals() {
  {
    const std::lock_guard lock{mutex_};
    ended_ = true;
  }
  pthread_kill(thread_.native_handle(), SIGTERM); // it is blocked, so this only wakes the thread
  thread_.join();
}

void StopSignals::on_stop(Drain drain) {
  const std::lock_guard lock{mutex_};
  drain_ = std::move(drain);
  if (signal_ != 0 && drain_)
    drain_();
}

void StopSignals::drained() {
  const std::lock_guard lock{mutex_};
  drained_ = true;
}

int StopSignals::received() const {
  const std::lock_guard lock{mutex_};
  return signal_;
}

void StopSignals::request_drain(int signal) {
  const std::lock_guard lock{mutex_};
  signal_ = signal;
  if (drain_)
    drain_();
}

int StopSignals::wait_for_signal() {
  const auto set = stop_signals();
  int number = 0;
  while ((number = sigwaitinfo(&set, nullptr)) < 0 && errno == EINTR) {
  }
  const std::lock_guard lock{mutex_};
  return ended_ ? 0 : number;
}

int StopSignals::wait_while_draining() {
  const auto set = stop_signals();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(drain_timeout_);
  const timespec timeout{static_cast<time_t>(seconds.count()),
                         static_cast<long>((drain_timeout_ - seconds).count() * 1000000)};
  const int number = sigtimedwait(&set, nullptr, &timeout);
  {
    const std::lock_guard lock{mutex_};
    if (ended_ || number > 0)
      return ended_ ? 0 : number;
    if (!drained_)
      end_at_once("troupe: the drain took too long (cluster.timeouts.drain)\n");
  }
  return wait_for_signal();
}

void StopSignals::watch() {
  const int first = wait_for_signal();
  if (first == 0)
    return;
  say(isatty(STDERR_FILENO) != 0 ? "\n" : ""); // below the progress bar
  say("troupe: stopping: the step under way is finished and saved; a second signal ends at once\n");
  request_drain(first);
  if (wait_while_draining() != 0)
    end_at_once("troupe: ended by a second signal\n");
}

} // namespace troupe::app
