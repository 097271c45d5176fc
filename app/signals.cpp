#include "app/signals.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace troupe::app {

namespace {

/// Signals within this time count as one.
constexpr std::chrono::seconds one_signal{1};

bool is_ignored(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM})
    sigaddset(&set, signal);
  for (const int signal : {SIGHUP, SIGUSR1, SIGUSR2})
    if (!is_ignored(signal))
      sigaddset(&set, signal);
  return set;
}

timespec time_until(std::chrono::steady_clock::time_point limit) {
  using namespace std::chrono;
  const auto left = std::max(limit - steady_clock::now(), steady_clock::duration::zero());
  const auto whole = duration_cast<seconds>(left);
  return {static_cast<time_t>(whole.count()),
          static_cast<long>(duration_cast<nanoseconds>(left - whole).count())};
}

void say(std::string_view text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

[[noreturn]] void end_at_once(std::string_view why) {
  say(why);
  _exit(1); // no destructors: they would wait for the drain
}

} // namespace

StopSignals::StopSignals(std::chrono::milliseconds drain_timeout)
    : signals_{stop_signals()}, drain_timeout_{drain_timeout} {
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  // A closed output pipe or scraper connection must not end a run.
  signal(SIGPIPE, SIG_IGN);
  thread_ = std::thread{[this] { watch(); }};
}

StopSignals::~StopSignals() {
  {
    const std::lock_guard lock{mutex_};
    ended_ = true;
  }
  pthread_kill(thread_.native_handle(), SIGTERM); // blocked, so it only wakes the thread
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

int StopSignals::next_signal(std::optional<Clock::time_point> limit) {
  if (has_ended())
    return 0; // the destructor's signal may have been consumed already
  int number = -1;
  do {
    const auto left = limit ? time_until(*limit) : timespec{};
    number = limit ? sigtimedwait(&signals_, nullptr, &left) : sigwaitinfo(&signals_, nullptr);
  } while (number < 0 && errno == EINTR);
  return has_ended() ? 0 : std::max(number, 0);
}

int StopSignals::second_signal(Clock::time_point first, std::optional<Clock::time_point> limit) {
  int number = next_signal(limit);
  while (number != 0 && Clock::now() - first < one_signal)
    number = next_signal(limit);
  return number;
}

bool StopSignals::has_ended() const {
  const std::lock_guard lock{mutex_};
  return ended_;
}

bool StopSignals::drains() const {
  const std::lock_guard lock{mutex_};
  return !drained_ && !ended_;
}

void StopSignals::watch() {
  const int first = next_signal();
  if (first == 0)
    return;
  const auto came = Clock::now();
  say(isatty(STDERR_FILENO) != 0 ? "\n" : ""); // below the progress bar
  say("troupe: stopping: finishing and saving the current step; after 1 s, a second signal ends "
      "the process at once\n");
  request_drain(first);
  int second = second_signal(came, came + drain_timeout_);
  if (second == 0 && drains())
    end_at_once("troupe: the drain took too long (cluster.timeouts.drain)\n");
  if (second == 0)
    second = second_signal(came);
  if (second != 0)
    end_at_once("troupe: ended by a second signal\n");
}

} // namespace troupe::app
