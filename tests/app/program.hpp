/// Runs the program as a user does.
#pragma once

#include "tests/support/scratch_folder.hpp"
#include "tests/support/shell_line.hpp"
#include "tests/support/source_tree.hpp"

#include <cstdlib>
#include <string>

#include <sys/wait.h>

namespace troupe::testing {

struct Outcome {
  int code = -1; ///< exit code, or 128 + signal
  std::string out, err;
};

/// Returns a shell command that runs the program in the source tree. `arguments`: as a shell takes
/// them; `environment`: "NAME=value".
inline std::string troupe_command(const std::string& arguments,
                                  const std::string& environment = {}) {
  return "cd " + shell_word(source_tree().string()) + " && " + environment + " " +
         shell_word(TROUPE_PROGRAM) + " " + arguments;
}

inline Outcome troupe_program(const std::string& arguments, const std::string& environment = {}) {
  const ScratchFolder folder;
  const auto out = folder / "out", err = folder / "err";
  const auto command = troupe_command(arguments, environment) + " >" + shell_word(out.string()) +
                       " 2>" + shell_word(err.string());
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_bytes(out),
          read_bytes(err)};
}

} // namespace troupe::testing
