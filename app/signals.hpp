/// SIGINT and SIGTERM: the first drains, the second ends the process at once.
#pragma once

#include <functional>
#include <mutex>
#include <thread>

namespace troupe::app {

/// Make one before any other thread starts: it blocks the signals for them all, and takes them in a
/// thread of its own.
class Signals {
public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// What to call on the first signal; at once if it has already come. Null: nothing any more.
  void on_first(std::function<void()> drain);

private:
  void wait_for_signals();

  std::mutex mutex_;
  std::function<void()> drain_;
  bool came_ = false, ended_ = false;
  std::thread thread_;
};

} // namespace troupe::app
