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
  if (requested_ && drain_)
    drain_();
}

void StopSignals::request_drain() {
  const std::lock_guard lock{mutex_};
  requested_ = true;
  if (drain_)
    drain_();
}

bool StopSignals::wait_for_signal() {
  const auto set = stop_signals();
  while (sigwaitinfo(&set, nullptr) < 0 && errno == EINTR) {
  }
  const std::lock_guard lock{mutex_};
  return !ended_;
}

void StopSignals::watch() {
  if (!wait_for_signal())
    return;
  say(isatty(STDERR_FILENO) != 0 ? "\n" : ""); // below the progress bar
  say("troupe: stopping: the step under way is finished and saved; a second signal ends at once\n");
  request_drain();
  const auto set = stop_signals();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(drain_timeout_);
  const timespec timeout{static_cast<time_t>(seconds.count()),
                         static_cast<long>((drain_timeout_ - seconds).count() * 1000000)};
  const int signal_number = sigtimedwait(&set, nullptr, &timeout);
  const std::lock_guard lock{mutex_};
  if (ended_)
    return;
  end_at_once(signal_number < 0 ? "troupe: the drain took too long (cluster.timeouts.drain)\n"
                                : "troupe: ended by a second signal\n");
}

} // namespace troupe::app
