/// Runs the program as a person does: a child process, its output and its end.
#pragma once

#include "tests/support/scratch_folder.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace troupe::testing {

/// Time limit of every wait: far more than any needs, also with sanitizers.
constexpr std::chrono::seconds time_limit{240};

/// Polls until the condition holds. Returns false at the time limit.
template <class Condition>
bool becomes_true(const Condition& condition, std::chrono::milliseconds limit = time_limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

struct Ended {
  int code = -1; ///< exit code, or 128 + the signal that ended it
  std::string out, err;
};

/// A child process that is killed with this object, and with the thread that started it.
class RunningProgram {
public:
  /// Looks the program up in the PATH when its name has no slash.
  explicit RunningProgram(const std::vector<std::string>& command);
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;
  ~RunningProgram();

  /// Return the output so far.
  std::string out() const { return read_bytes(folder_ / "out"); }
  std::string err() const { return read_bytes(folder_ / "err"); }

  pid_t id() const { return id_; } ///< -1 once it has ended
  bool running();
  void send(int signal) const;
  /// Waits until it has printed this to stdout. Returns false when it ends without.
  bool prints(const std::string& text);
  /// Waits for its end. Kills it, and throws, when it does not end in time.
  Ended wait(std::chrono::milliseconds limit = time_limit);
  void kill();

private:
  ScratchFolder folder_;
  pid_t id_ = -1; ///< -1 once it has ended
  int code_ = -1;
};

} // namespace troupe::testing
