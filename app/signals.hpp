/// Signals that stop a run: SIGINT and SIGTERM, and SIGHUP, SIGUSR1 and SIGUSR2 unless they were
/// ignored when the process started (nohup). The first one asks the company to drain. A second one,
/// or a drain that takes longer than its timeout, ends the process at once (exit code 1). Signals
/// within a second count as one: `timeout` sends two.
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

  /// To be made before any other thread: blocks the signals for this one and all that it starts.
  explicit StopSignals(std::chrono::milliseconds drain_timeout);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The job has ended: there is nothing left to drain, and no timeout.
  void drained();
  /// The signal that asked to stop; 0: none has.
  int received() const;

  /// What to call, from a thread of this object's, on the first signal: now, if it has come
  /// already.
  void on_stop(Drain drain);

private:
  using Clock = std::chrono::steady_clock;

  void watch();
  /// Returns 0 when the object is being destroyed, or at the limit.
  int next_signal(std::optional<Clock::time_point> limit = {});
  /// The same, for signals that do not count as the first one.
  int second_signal(Clock::time_point first, std::optional<Clock::time_point> limit = {});
  void request_drain(int signal);
  bool has_ended() const;
  /// Whether a drain may still be under way.
  bool drains() const;

  const sigset_t signals_;
  std::chrono::milliseconds drain_timeout_;
  mutable std::mutex mutex_;
  Drain drain_;
  int signal_ = 0; ///< the first
  bool drained_ = false, ended_ = false;
  std::thread thread_; ///< last: it uses all of the above
};

} // namespace troupe::app
