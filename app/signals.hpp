/// Signals that stop a run: SIGINT and SIGTERM, and SIGHUP, SIGUSR1 and SIGUSR2 unless they were
/// ignored when the process started (nohup). The first one drains the node runtime. A second one,
/// or a drain that exceeds its timeout, ends the process at once (exit code 1). Signals within a
/// second count as one: `timeout` sends two.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include <signal.h>

namespace troupe::app {

class StopSignals {
public:
  using Drain = std::function<void()>;

  /// Create it before any other thread: it blocks the signals for this thread and all threads
  /// started later.
  explicit StopSignals(std::chrono::milliseconds drain_timeout);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The job has ended: from now on there is nothing to drain, and no timeout.
  void drained();
  /// The signal that requested the stop; 0: none.
  int received() const;

  /// Sets the function to call on the first signal, on a thread of this object. Calls it at once if
  /// the signal has already arrived.
  void on_stop(Drain drain);

private:
  using Clock = std::chrono::steady_clock;

  void watch();
  /// Returns the next signal; 0 at the limit, or when the object is being destroyed.
  int next_signal(std::optional<Clock::time_point> limit = {});
  /// Like next_signal(), but skips signals that count as the first one.
  int second_signal(Clock::time_point first, std::optional<Clock::time_point> limit = {});
  void request_drain(int signal);
  bool has_ended() const;
  /// Whether a drain may still be in progress.
  bool drains() const;

  const sigset_t signals_;
  std::chrono::milliseconds drain_timeout_;
  mutable std::mutex mutex_;
  Drain drain_;
  int signal_ = 0; ///< the first
  bool drained_ = false, ended_ = false;
  std::thread thread_; ///< last: it uses all members above
};

} // namespace troupe::app
