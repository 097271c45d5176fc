/// External programs that tests run: promtool, prometheus.
#pragma once

#include <array>
#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::testing {

/// A running program whose output goes to a file. The destructor ends it.
class Program {
public:
  Program(const std::vector<std::string>& command, const std::string& output) {
    std::vector<char*> arguments;
    for (const auto& part : command)
      arguments.push_back(const_cast<char*>(part.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    const int code = ::posix_spawn(&id_, arguments[0], &files, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (code != 0)
      throw std::runtime_error("cannot start " + command[0]);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (id_ > 0) {
      ::kill(id_, SIGKILL);
      wait();
    }
  }

  /// Waits for its end. Returns the exit code; negative when a signal ended it.
  int wait() {
    int status = 0;
    ::waitpid(id_, &status, 0);
    id_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  bool running() {
    if (id_ > 0 && ::waitpid(id_, nullptr, WNOHANG) == id_)
      id_ = -1;
    return id_ > 0;
  }

private:
  pid_t id_ = -1;
};

} // namespace troupe::testing
