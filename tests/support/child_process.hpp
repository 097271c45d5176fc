/// Runs part of a test in a child process, which may be limited or killed.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::testing {

class ChildProcess {
public:
  /// `body` may write to the descriptor that it receives; the process ends when `body` returns.
  explicit ChildProcess(const std::function<void(int)>& body) {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0 || (id_ = ::fork()) < 0)
      throw std::runtime_error("cannot start a child process");
    if (id_ == 0) {
      ::close(pipe[0]);
      body(pipe[1]);
      ::_exit(0); // skips the parent's destructors
    }
    ::close(pipe[1]);
    output_ = pipe[0];
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() {
    kill();
    ::close(output_);
  }

  void kill() {
    if (id_ > 0) {
      ::kill(id_, SIGKILL);
      wait();
    }
  }

  /// Returns all output until the process ends.
  std::string wait_for_output() {
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t count; (count = ::read(output_, piece.data(), piece.size())) > 0;)
      text.append(piece.data(), static_cast<std::size_t>(count));
    wait();
    return text;
  }

  /// Waits for the first output. Returns false when the time is over.
  bool wait_for_first_output(int milliseconds) const {
    pollfd waiting{.fd = output_, .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, milliseconds) == 1;
  }

private:
  void wait() {
    if (id_ > 0)
      ::waitpid(std::exchange(id_, -1), nullptr, 0);
  }

  pid_t id_ = -1;
  int output_ = -1;
};

inline void write_text(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto count = ::write(descriptor, text.data() + at, text.size() - at);
    if (count <= 0)
      return;
    at += static_cast<std::size_t>(count);
  }
}

} // namespace troupe::testing
