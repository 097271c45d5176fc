#include "tests/system/running_program.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::testing {

namespace {

/// In the child: only calls that are allowed after a fork of a process with threads.
[[noreturn]] void become(char* const* arguments, const char* out, const char* err, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent)
    ::_exit(127);
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(::open(out, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), STDOUT_FILENO);
  ::dup2(::open(err, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), STDERR_FILENO);
  ::execvp(arguments[0], arguments);
  std::perror(arguments[0]);
  ::_exit(127);
}

} // namespace

RunningProgram::RunningProgram(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const auto& part : command)
    arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  const auto out = (folder_ / "out").string(), err = (folder_ / "err").string();
  const auto parent = ::getpid();
  id_ = ::fork();
  if (id_ < 0)
    throw std::runtime_error("cannot start " + command[0]);
  if (id_ == 0)
    become(arguments.data(), out.c_str(), err.c_str(), parent);
}

RunningProgram::~RunningProgram() {
  kill();
}

bool RunningProgram::running() {
  int status = 0;
  if (id_ > 0 && ::waitpid(id_, &status, WNOHANG) == id_) {
    id_ = -1;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return id_ > 0;
}

void RunningProgram::send(int signal) const {
  if (id_ > 0)
    ::kill(id_, signal);
}

bool RunningProgram::prints(const std::string& text) {
  const auto printed = [&] { return out().find(text) != std::string::npos; };
  return becomes_true([&] { return printed() || !running(); }) && printed();
}

Ended RunningProgram::wait(std::chrono::milliseconds limit) {
  if (!becomes_true([this] { return !running(); }, limit)) {
    kill();
    const auto said = out() + err();
    throw std::runtime_error("the program does not end; it printed last:\n" +
                             said.substr(said.size() - std::min<std::size_t>(said.size(), 1000)));
  }
  return {code_, out(), err()};
}

void RunningProgram::kill() {
  send(SIGKILL);
  int status = 0;
  if (id_ > 0 && ::waitpid(id_, &status, 0) == id_)
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  id_ = -1;
}

} // namespace troupe::testing
