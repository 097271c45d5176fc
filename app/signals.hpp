/// SIGINT and SIGTERM of a run. The first asks the company to drain; a second one, or a drain that
/// takes longer than its timeout, ends the process at once.
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

  /// What to call, from a thread of this object's, on the first signal: now, if it has come
  /// already.
  void on_stop(Drain drain);

private:
  void watch();
  /// False when the object is being destroyed.
  bool wait_for_signal();
  void request_drain();

  std::chrono::milliseconds drain_timeout_;
  std::mutex mutex_;
  Drain drain_;
  bool requested_ = false, ended_ = false;
  std::thread thread_; ///< last: it uses all of the above
};

} // namespace troupe::app
