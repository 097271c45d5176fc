#include "app/subprocess.hpp"

#include "core/fail.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::app {

Result<int> run_subprocess(const std::vector<std::string>& arguments,
                           const std::filesystem::path& log) {
  std::string program = "troupe";
  std::vector<char*> words = {program.data()};
  auto copies = arguments;
  for (auto& word : copies)
    words.push_back(word.data());
  words.push_back(nullptr);
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  const int output = ::open(log.c_str(), flags, 0666);
  if (output < 0)
    return fail(Errc::io, "cannot create {}: {}", log.string(), std::strerror(errno));
  const auto id = ::fork();
  if (id == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::execv("/proc/self/exe", words.data());
    ::_exit(127);
  }
  ::close(output);
  if (id < 0)
    return fail(Errc::io, "cannot start a process: {}", std::strerror(errno));
  int status = 0;
  while (::waitpid(id, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace troupe::app
