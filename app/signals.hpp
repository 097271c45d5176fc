/// SIGINT and SIGTERM of a run. The first asks the company to drain; a second one, or a drain that
/// takes longer than its timeout, ends the process at once (exit code 1).
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

namespace troupe::app {

class StopSignals {
public:
  using Drain = std::function<void()>;

  /// To be made before any other thread: blocks both signals for this one and all that it starts.
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
  void watch();
  /// Its number; 0 when the object is being destroyed.
  int wait_for_signal();
  /// The same; ends the process when the drain takes longer than its timeout.
  int wait_while_draining();
  void request_drain(int signal);

  std::chrono::milliseconds drain_timeout_;
  mutable std::mutex mutex_;
  Drain drain_;
  int signal_ = 0; ///< the first
  bool drained_ = false, ended_ = false;
  std::thread thread_; ///< last: it uses all of the above
};

} // namespace troupe::app
